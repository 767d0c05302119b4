import type { AppError } from '#core/base/errors/app-error';
import { withDeadline } from '#core/platform/outbound/deadline';
import type { Services } from '#core/platform/services';
import { attemptAt, type Served } from '#modules/connectors/calls/attempts.service';
import { retryAfterOf } from '#modules/connectors/calls/pauses';
import type { Provider, ProviderCall } from '#modules/connectors/calls/provider-call';
import { readinessOf, secondsUntilRetry, type Readiness } from '#modules/connectors/calls/routing.rules';
import { findRoute, type Candidate, type Route, type Wanted } from '#modules/connectors/calls/routing.service';
import {
  NoProvider,
  OperationDisabled,
  ProvidersFailed,
  ProvidersRefused,
} from '#modules/connectors/connectors.errors';
import { finishProbe, lastResortMs, mayProbe, mayTryEarly } from '#modules/connectors/health/health.service';
import { reserve } from '#modules/connectors/overrides/quotas.service';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound'>;

export type { Provider, ProviderCall, ProviderFetch } from '#modules/connectors/calls/provider-call';

const defaultTimeouts = { attemptMs: 10_000, totalMs: 14_000 };

/**
 * Calls providers in failover order until one succeeds: those of the tenant's override, then its own by priority, then the
 * installation's. Paused connectors are skipped. Failing connectors are skipped too; without others, one call at a time
 * tries them.
 * @throws OperationDisabled (403), NoProvider (503) without a connector for the operation, QuotaExceeded (429),
 *   ProvidersRefused (422) if all called providers refuse, with Retry-After if others were skipped, ProvidersFailed (502) if
 *   one failed, with Retry-After if none could be called
 */
export async function callProviders<Result>(
  services: Dependencies,
  call: ProviderCall<Result>,
): Promise<{ result: Result; provider: Provider }> {
  const { isEnabled, candidates, quotaLimits } = await (call.route ?? findRoute(services, call));
  if (!isEnabled) throw OperationDisabled();
  if (candidates.length === 0) throw NoProvider();
  const { tenantId, operation, characters = 0 } = call;
  const reservation = await reserve(services, { tenantId, operation, quotaLimits, characters });
  let isSpent = false;
  const onSpent = () => void (isSpent = true);
  try {
    const { attemptMs, totalMs } = call.timeouts ?? defaultTimeouts;
    const { tokens, ...served } = await withDeadline(totalMs, call.signal, (deadline) =>
      tryEach(services, call, { candidates, deadline, attemptMs: Math.min(attemptMs, totalMs), onSpent }),
    );
    await reservation.settle(tokens).catch((error: unknown) => {
      services.log.error({ err: error, tenantId, operation }, 'tokens could not be counted');
    });
    return served;
  } catch (error) {
    // A caller who disconnects gets no quota back, because the provider may have done the work.
    if (isSpent) throw error;
    await reservation.giveBack().catch((cause: unknown) => {
      services.log.error({ err: cause, tenantId, operation }, 'a quota reservation could not be released');
    });
    throw error;
  }
}

/** For results that need no provider call. @throws OperationDisabled (403) */
export async function assertOperationEnabled(
  services: Dependencies,
  { tenantId, operation }: Pick<Wanted, 'tenantId' | 'operation'>,
): Promise<void> {
  const { isEnabled } = await findRoute(services, { tenantId, operation, serves: () => false });
  if (!isEnabled) throw OperationDisabled();
}

/** The providers that `callProviders` would try; undefined without any. @throws OperationDisabled (403) */
export async function findServingRoute(services: Dependencies, wanted: Wanted): Promise<Route | undefined> {
  const route = await findRoute(services, wanted);
  if (!route.isEnabled) throw OperationDisabled();
  return route.candidates.length > 0 ? route : undefined;
}

type Trying = { candidates: readonly Candidate[]; deadline: AbortSignal; attemptMs: number; onSpent(): void };

async function tryEach<Result>(
  services: Dependencies,
  call: ProviderCall<Result>,
  { candidates, ...limits }: Trying,
): Promise<Served<Result>> {
  const { deadline } = limits;
  const passedOver: Candidate[] = [];
  const refusing = new Set<Candidate>();
  let hasFailed = false;
  for (const candidate of candidates) {
    if (deadline.aborted) break;
    const readiness = await readinessNow(services, call.tenantId, candidate);
    if (readiness === 'out') {
      passedOver.push(candidate);
      continue;
    }
    const isProbe = readiness === 'probe';
    const attempt = attemptAt(services, call, { ...limits, candidate, heedsCircuit: !isProbe });
    const served = await (isProbe ? asProbe(services, candidate, attempt) : attempt);
    if (typeof served === 'object') return served;
    hasFailed ||= served === 'failed';
    if (served === 'refused') refusing.add(candidate);
  }
  call.signal?.throwIfAborted();
  // The provider that failed might accept it next time.
  if (hasFailed || deadline.aborted)
    throw ProvidersFailed({ retryAfterSeconds: await findRetryAfterSeconds(services, call) });
  if (refusing.size > 0) throw refusalBy(refusing, { services, call, candidates });
  return tryLastResort(services, call, { ...limits, candidates, passedOver });
}

/** If no provider could be called: tries the first that no other call is probing, and the next one after a refusal. */
async function tryLastResort<Result>(
  services: Dependencies,
  call: ProviderCall<Result>,
  { candidates, passedOver, ...limits }: Trying & { passedOver: readonly Candidate[] },
): Promise<Served<Result>> {
  const { tenantId } = call;
  const refusing = new Set<Candidate>();
  for (const candidate of candidates) {
    if (retryAfterOf(services, tenantId, candidate) !== undefined) continue;
    const { isOwnCredentials } = candidate;
    // Outcomes with own credentials are not recorded, so they must not occupy the probe of other calls.
    const isFree = isOwnCredentials ? passedOver.includes(candidate) : await mayTryEarly(services, candidate.row);
    if (!isFree) continue;
    const attempt = attemptAt(services, call, { ...limits, candidate, heedsCircuit: isOwnCredentials });
    const served = await (isOwnCredentials ? attempt : asProbe(services, candidate, attempt));
    if (typeof served === 'object') return served;
    if (served === 'failed') throw ProvidersFailed({ retryAfterSeconds: await findRetryAfterSeconds(services, call) });
    if (served === 'refused') refusing.add(candidate);
  }
  if (refusing.size > 0) throw refusalBy(refusing, { services, call, candidates });
  const until = (candidate: Candidate) => retryAfterOf(services, tenantId, candidate);
  const retryAfterSeconds = secondsToRetry(services, candidates, until);
  throw ProvidersFailed({ retryAfterSeconds, details: { asked: false } });
}

/** Seconds until the first connector can be called again, if all of them are paused now; otherwise undefined. */
async function findRetryAfterSeconds(services: Dependencies, wanted: Wanted): Promise<number | undefined> {
  const { candidates } = await findRoute(services, wanted);
  const until = (candidate: Candidate) => retryAfterOf(services, wanted.tenantId, candidate);
  const isAskedByAll = candidates.every((candidate) => until(candidate) !== undefined);
  return isAskedByAll && candidates.length > 0 ? secondsToRetry(services, candidates, until) : undefined;
}

type Asked = { services: Dependencies; call: Pick<Wanted, 'tenantId'>; candidates: readonly Candidate[] };

/** The skipped connectors may accept the request later. */
function refusalBy(refusing: ReadonlySet<Candidate>, { services, call, candidates }: Asked): AppError {
  const others = candidates.filter((candidate) => !refusing.has(candidate));
  if (others.length === 0) return ProvidersRefused();
  const until = (candidate: Candidate) => retryAfterOf(services, call.tenantId, candidate) ?? candidate.row.retry_at;
  return ProvidersRefused({ retryAfterSeconds: secondsToRetry(services, others, until) });
}

/** Of many calls after the end of a pause, one makes the probe. */
async function readinessNow(services: Dependencies, tenantId: string, candidate: Candidate): Promise<Readiness> {
  const { row, isOwnCredentials } = candidate;
  if (retryAfterOf(services, tenantId, candidate) !== undefined) return 'out';
  const readiness = readinessOf(row, { now: services.now(), isOwnCredentials });
  return readiness === 'probe' && !(await mayProbe(services, row)) ? 'out' : readiness;
}

async function asProbe<Result>(services: Dependencies, { row }: Candidate, attempt: Promise<Result>): Promise<Result> {
  try {
    return await attempt;
  } finally {
    await finishProbe(services, row).catch((error: unknown) => {
      services.log.error({ err: error, connectorId: row.id }, 'the outcome of an attempt could not be written');
    });
  }
}

function secondsToRetry(
  services: Dependencies,
  candidates: readonly Candidate[],
  untilOf: (candidate: Candidate) => string | null | undefined,
): number {
  const now = services.now();
  const waits = candidates.map((candidate) => {
    const until = untilOf(candidate) ?? undefined;
    return until === undefined ? lastResortMs / 1000 : secondsUntilRetry(until, now);
  });
  return Math.min(...waits);
}
