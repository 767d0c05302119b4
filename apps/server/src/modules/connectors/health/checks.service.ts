import { setTimeout as sleep } from 'node:timers/promises';

import { isTimeout, withDeadline } from '#core/platform/outbound/deadline';
import { OutboundError } from '#core/platform/outbound/outbound';
import { mailTargetOf } from '#core/platform/outbound/target';
import type { Services } from '#core/platform/services';
import { findAdapter, type ConnectorAdapter } from '#modules/connectors/adapters';
import { isCallNotMade, ProviderFailure } from '#modules/connectors/calls/failures';
import { refusalOf, toOutcome } from '#modules/connectors/calls/refusals';
import type { ConnectorRow } from '#modules/connectors/connectors.queries';
import { openCredentials } from '#modules/connectors/credentials';
import { listQuietConnectors, passOverCheck } from '#modules/connectors/health/health.queries';
import { isIncomplete, isProvenByAnswer, type Health, type Outcome } from '#modules/connectors/health/health.rules';
import { mayProbe, noteOutcome } from '#modules/connectors/health/health.service';
import type { ProviderSettings } from '#modules/connectors/provider';
import { isUsable } from '#modules/connectors/settings';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>;

/** One minute less the variation of the dispatcher and the jitter below. */
const quietMs = 55_000;
const timeoutMs = 10_000;
const atOnce = 10;
/** More than one run can check: each tenant's longest unchecked connectors come first, the rest in the next run. */
const maxPerRun = 1000;
/** If all of them hang, one tenant uses less than half of the time of a run. */
const maxPerTenant = 20;
/** No check starts after this time, so that a run ends before the next one. */
const maxRunMs = 40_000;

type Check = {
  row: ConnectorRow;
  /** The caller; undefined for scheduled checks. */
  caller?: { userId: string | null; requestId: string | null } | undefined;
  signal?: AbortSignal;
};

export type Checked = { outcome: Outcome; latencyMs: number; health: Health };

/**
 * Runs the cheapest possible health check and records its outcome.
 * @throws the reason of the signal if it is aborted
 */
export async function checkConnector(services: Dependencies, { row, caller, signal }: Check): Promise<Checked> {
  const startedAt = performance.now();
  const asked = withDeadline(timeoutMs, signal, (until) => ask(services, row, until));
  const found = await asked.catch((error: unknown) => {
    signal?.throwIfAborted();
    return toFailure(error);
  });
  // No permit was free, which does not concern the connector.
  if (isCallNotMade(found))
    return { outcome: { kind: 'unreachable', httpStatus: undefined }, latencyMs: 0, health: row };
  const latencyMs = Math.round(performance.now() - startedAt);
  const outcome: Outcome = found instanceof ProviderFailure ? toOutcome(found) : { kind: found, latencyMs };
  record(services, { row, caller }, { outcome, latencyMs });
  const health = await noteOutcome(services, row, { outcome, at: services.now(), isCheck: true });
  return { outcome, latencyMs, health: health ?? row };
}

/** Whether the provider answered as expected. */
export function isWell({ kind }: Outcome): boolean {
  return kind === 'success' || kind === 'reached';
}

function record(services: Dependencies, { row, caller }: Check, { outcome, latencyMs }: Omit<Checked, 'health'>): void {
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

/** Checks connectors of all tenants that had no call for a minute. */
export async function checkQuietConnectors(
  services: Dependencies,
  { signal, jitterMs, runMs = maxRunMs }: { signal: AbortSignal; jitterMs: number; runMs?: number },
): Promise<{ checked: number; failed: number }> {
  const endsAt = performance.now() + runMs;
  const now = services.now();
  const max = { perTenant: maxPerTenant, limit: maxPerRun };
  const quiet = { now: now.toISOString(), since: new Date(now.getTime() - quietMs).toISOString() };
  const rows = await services.database.platform().interactive.all(listQuietConnectors({ ...quiet, ...max }));
  const result = { checked: 0, failed: 0 };
  const work = async () => {
    for (let row = rows.shift(); row !== undefined; row = rows.shift()) {
      signal.throwIfAborted();
      if (performance.now() >= endsAt) return;
      // Jitter spreads checks that are due at the same time.
      await sleep(Math.random() * jitterMs, undefined, { signal });
      const isGood = await checkOne(services, row, signal);
      if (isGood !== undefined) result.checked += 1;
      if (isGood === false) result.failed += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return result;
}

/** Undefined if no request was sent. An internal error with one connector does not stop the other checks. */
async function checkOne(services: Dependencies, row: ConnectorRow, signal: AbortSignal): Promise<boolean | undefined> {
  try {
    if (!(await isDue(services, row))) return undefined;
    const { outcome } = await checkConnector(services, { row, signal });
    return isWell(outcome);
  } catch (error) {
    signal.throwIfAborted();
    services.log.error({ err: error, connectorId: row.id }, 'a health check failed because of an internal error');
    return false;
  }
}

/** An auto-disabled connector gets one probe at a time, and only if the check can prove recovery; an incomplete one gets none. */
async function isDue(services: Dependencies, row: ConnectorRow): Promise<boolean> {
  if (!row.auto_disabled && !isIncomplete(row)) return true;
  const canProve = !isIncomplete(row) && (adapterOf(row)?.check !== undefined || isProvenByAnswer(row));
  if (canProve && (await mayProbe(services, row))) return true;
  const { tenant_id: tenantId, id } = row;
  // Otherwise it would always come first.
  await services.database
    .tenant(tenantId)
    .interactive.all(passOverCheck({ tenantId, id, at: services.now().toISOString() }));
  return false;
}

/** @throws ProviderFailure, OutboundError, or the reason of the signal */
async function ask(services: Dependencies, row: ConnectorRow, signal: AbortSignal): Promise<'success' | 'reached'> {
  const settings = settingsOf(services, row);
  const adapter = adapterOf(row);
  if (adapter !== undefined && !isUsable(adapter, settings)) throw new ProviderFailure('credentials');
  if (adapter?.check !== undefined)
    return askByAdapter(services, { ...adapter.check(settings), owner: row.tenant_id }, signal);
  const mail = mailTargetOf(settings.baseUrl);
  if (mail !== undefined) {
    (await services.outbound.connect({ ...mail, signal, owner: row.tenant_id })).destroy();
    return 'reached';
  }
  // Sent without credentials: a 401, 404 or 405 proves that the provider is reachable.
  const { status } = await services.outbound.fetch(settings.baseUrl, {
    method: 'HEAD',
    signal,
    owner: row.tenant_id,
  });
  if (status >= 500 && status !== 501) throw new ProviderFailure('answer', { httpStatus: status });
  return 'reached';
}

/** Lists of languages and models are long, but only the status matters. */
const maxCheckBytes = 1_048_576;

async function askByAdapter(
  services: Dependencies,
  { url, ...request }: ReturnType<NonNullable<ConnectorAdapter['check']>> & { owner: string },
  signal: AbortSignal,
): Promise<'success'> {
  const answer = await services.outbound.fetch(url, { ...request, signal, maxBytes: maxCheckBytes });
  if (!answer.ok) throw refusalOf(answer, services.now());
  return 'success';
}

function settingsOf(services: Dependencies, row: ConnectorRow): ProviderSettings {
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
