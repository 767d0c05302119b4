import { setTimeout as sleep } from 'node:timers/promises';

import { isTimeout, withDeadline } from '#core/outbound/deadline';
import { OutboundError } from '#core/outbound/outbound';
import { mailTargetOf } from '#core/outbound/target';
import type { Services } from '#core/services';
import { findAdapter, type ConnectorAdapter } from '#modules/connectors/adapters';
import { isNotAsked, ProviderFailure } from '#modules/connectors/calls/failures';
import { refusalOf, toOutcome } from '#modules/connectors/calls/refusals';
import type { ConnectorRow } from '#modules/connectors/connectors.queries';
import { openCredentials } from '#modules/connectors/credentials';
import { listQuietConnectors, passOverCheck } from '#modules/connectors/health/health.queries';
import { isProvenByAnswer, type Health, type Outcome } from '#modules/connectors/health/health.rules';
import { mayProbe, noteOutcome } from '#modules/connectors/health/health.service';
import type { ProviderSettings } from '#modules/connectors/provider';

/** A minute, less what the ticks of the dispatcher and the waiting below differ. */
const quietMs = 55_000;
const patienceMs = 10_000;
const atOnce = 10;
/** More than a run has the time for: the longest unheard of each tenant come first, and the rest in the next run. */
const mostPerRun = 1000;
/** All of one tenant that hang take a run less than half of its time. */
const mostPerTenant = 20;
/** A run begins nothing any more then, and so ends before the next one. */
const longestRunMs = 40_000;

type Check = {
  row: ConnectorRow;
  /** Who asked for it; nobody where the clock did. */
  caller?: { userId: string | null; requestId: string | null } | undefined;
  signal?: AbortSignal;
};

export type Checked = { outcome: Outcome; latencyMs: number; health: Health };

/**
 * Asks a connector how it does, in the cheapest way that there is, and writes it down.
 * @throws the reason of the signal when that is aborted
 */
export async function checkConnector(services: Services, { row, caller, signal }: Check): Promise<Checked> {
  const startedAt = performance.now();
  const asked = withDeadline(patienceMs, signal, (until) => ask(services, row, until));
  const found = await asked.catch((error: unknown) => {
    signal?.throwIfAborted();
    return toFailure(error);
  });
  // All places for calls were taken, which tells nothing of the connector.
  if (isNotAsked(found)) return { outcome: { kind: 'unreachable', httpStatus: undefined }, latencyMs: 0, health: row };
  const latencyMs = Math.round(performance.now() - startedAt);
  const outcome: Outcome = found instanceof ProviderFailure ? toOutcome(found) : { kind: found, latencyMs };
  record(services, { row, caller }, { outcome, latencyMs });
  const health = await noteOutcome(services, row, { outcome, at: services.now(), isCheck: true });
  return { outcome, latencyMs, health: health ?? row };
}

/** Whether it answered as it should. */
export function isWell({ kind }: Outcome): boolean {
  return kind === 'success' || kind === 'reached';
}

function record(services: Services, { row, caller }: Check, { outcome, latencyMs }: Omit<Checked, 'health'>): void {
  const failure = isWell(outcome) ? null : outcome.kind;
  services.callLog.record({
    tenantId: row.tenant_id,
    operation: 'connectors.check',
    connectorId: row.id,
    provider: row.api_key,
    outcome: failure === null ? 'success' : failure === 'rate_limited' ? failure : 'failure',
    failure,
    httpStatus: ('httpStatus' in outcome ? outcome.httpStatus : undefined) ?? null,
    latencyMs,
    ownCredentials: false,
    characters: null,
    tokens: null,
    userId: null,
    requestId: null,
    ...caller,
  });
}

/** Checks those of all tenants that nothing was heard of for a minute. */
export async function checkQuietConnectors(
  services: Services,
  { signal, jitterMs, runMs = longestRunMs }: { signal: AbortSignal; jitterMs: number; runMs?: number },
): Promise<{ checked: number; failed: number }> {
  const endsAt = performance.now() + runMs;
  const now = services.now();
  const most = { perTenant: mostPerTenant, limit: mostPerRun };
  const quiet = { now: now.toISOString(), since: new Date(now.getTime() - quietMs).toISOString() };
  const rows = await services.database.platform().slow.all(listQuietConnectors({ ...quiet, ...most }));
  const result = { checked: 0, failed: 0 };
  const work = async () => {
    for (let row = rows.shift(); row !== undefined; row = rows.shift()) {
      signal.throwIfAborted();
      if (performance.now() >= endsAt) return;
      // What is due at the same second is not asked at the same second.
      await sleep(Math.random() * jitterMs, undefined, { signal });
      const isGood = await checkOne(services, row, signal);
      if (isGood !== undefined) result.checked += 1;
      if (isGood === false) result.failed += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return result;
}

/** Undefined where nobody was asked. What goes wrong with one here keeps nobody from asking the others. */
async function checkOne(services: Services, row: ConnectorRow, signal: AbortSignal): Promise<boolean | undefined> {
  try {
    if (!(await isDue(services, row))) return undefined;
    const { outcome } = await checkConnector(services, { row, signal });
    return isWell(outcome);
  } catch (error) {
    signal.throwIfAborted();
    services.log.error({ err: error, connectorId: row.id }, 'a connector could not be checked');
    return false;
  }
}

/** One that was switched off is tried by one caller at a time, and by a check only where that can prove that it is well. */
async function isDue(services: Services, row: ConnectorRow): Promise<boolean> {
  if (!row.auto_disabled) return true;
  const canProve = adapterOf(row)?.check !== undefined || isProvenByAnswer(row);
  if (canProve && (await mayProbe(services, row))) return true;
  const { tenant_id: tenantId, id } = row;
  // Otherwise it would come before all others for ever.
  await services.database.tenant(tenantId).slow.all(passOverCheck({ tenantId, id, at: services.now().toISOString() }));
  return false;
}

/** @throws ProviderFailure, OutboundError, or the reason of the signal */
async function ask(services: Services, row: ConnectorRow, signal: AbortSignal): Promise<'success' | 'reached'> {
  const settings = settingsOf(services, row);
  const adapter = adapterOf(row);
  if (adapter?.problem(settings) !== undefined) throw new ProviderFailure('credentials');
  if (adapter?.check !== undefined)
    return askByAdapter(services, { ...adapter.check(settings), owner: row.tenant_id }, signal);
  const mail = mailTargetOf(settings.baseUrl);
  if (mail !== undefined) {
    (await services.outbound.connect({ ...mail, signal, owner: row.tenant_id })).destroy();
    return 'reached';
  }
  // Without credentials: whoever refuses that, or knows no such address or method, is there.
  const { status } = await services.outbound.fetch(settings.baseUrl, {
    method: 'HEAD',
    signal,
    owner: row.tenant_id,
  });
  if (status >= 500 && status !== 501) throw new ProviderFailure('answer', { httpStatus: status });
  return 'reached';
}

async function askByAdapter(
  services: Services,
  { url, ...request }: ReturnType<NonNullable<ConnectorAdapter['check']>> & { owner: string },
  signal: AbortSignal,
): Promise<'success'> {
  const answer = await services.outbound.fetch(url, { ...request, signal });
  if (!answer.ok) throw refusalOf(answer, services.now());
  return 'success';
}

function settingsOf(services: Services, row: ConnectorRow): ProviderSettings {
  try {
    return { baseUrl: row.api_base_url, config: row.config, credentials: openCredentials(services, row) };
  } catch (cause) {
    throw new ProviderFailure('credentials', { cause });
  }
}

function adapterOf({ config, api_key: key, category }: ConnectorRow): ConnectorAdapter | undefined {
  return findAdapter({ config, key, category });
}

function toFailure(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  if (error instanceof OutboundError || isTimeout(error)) return new ProviderFailure('unreachable', { cause: error });
  throw error;
}
