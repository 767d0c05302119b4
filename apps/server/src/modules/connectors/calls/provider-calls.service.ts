import type { AppError } from '#core/errors/app-error';
import { withDeadline } from '#core/outbound/deadline';
import type { Services } from '#core/services';
import { attemptAt, type Served } from '#modules/connectors/calls/attempts.service';
import type { Provider, ProviderCall } from '#modules/connectors/calls/provider-call';
import { patienceOf } from '#modules/connectors/calls/pauses';
import { readinessOf, secondsUntilRetry, type Readiness } from '#modules/connectors/calls/routing.rules';
import { findRoute, type Candidate, type Wanted } from '#modules/connectors/calls/routing.service';
import {
  NoProvider,
  OperationDisabled,
  ProvidersFailed,
  ProvidersRefused,
} from '#modules/connectors/connectors.errors';
import { finishProbe, lastResortMs, mayProbe, mayTryEarly } from '#modules/connectors/health/health.service';
import { reserve } from '#modules/connectors/overrides/quotas.service';

export type { Provider, ProviderCall, ProviderFetch } from '#modules/connectors/calls/provider-call';

const defaultPatience = { attemptMs: 10_000, totalMs: 14_000 };

/**
 * Has the first provider that can do it carry out an operation, within the tenant's terms: those that its override names,
 * then its own by priority, then the installation's. Whoever asked for patience is passed over; whoever is known to fail,
 * too, while there are others, and is tried by one caller at a time where there are none.
 * @throws OperationDisabled (403), NoProvider (503) when nobody serves the operation, QuotaExceeded (429), ProvidersRefused
 *   (422) when all who were asked do not take this, with Retry-After where others were passed over, ProvidersFailed (502) when
 *   one has failed, with Retry-After where none could be asked
 */
export async function callProviders<Result>(
  services: Services,
  call: ProviderCall<Result>,
): Promise<{ result: Result; provider: Provider }> {
  const { isEnabled, candidates, ceilings } = await (call.route ?? findRoute(services, call));
  if (!isEnabled) throw OperationDisabled();
  if (candidates.length === 0) throw NoProvider();
  const { tenantId, operation, characters = 0 } = call;
  const reservation = await reserve(services, { tenantId, operation, ceilings, characters });
  let isSpent = false;
  const onSpent = () => void (isSpent = true);
  try {
    const { attemptMs, totalMs } = call.patience ?? defaultPatience;
    const { tokens, ...served } = await withDeadline(totalMs, call.signal, (deadline) =>
      tryEach(services, call, { candidates, deadline, attemptMs: Math.min(attemptMs, totalMs), onSpent }),
    );
    await reservation.settle(tokens).catch((error: unknown) => {
      services.log.error({ err: error, tenantId, operation }, 'tokens could not be counted');
    });
    return served;
  } catch (error) {
    // Whoever hangs up gets nothing back of what the provider may have done.
    if (isSpent) throw error;
    await reservation.giveBack().catch((cause: unknown) => {
      services.log.error({ err: cause, tenantId, operation }, 'what was taken of a ceiling could not be given back');
    });
    throw error;
  }
}

/** Where nobody has to be asked, because the answer is known already. @throws OperationDisabled (403) */
export async function assertOperationEnabled(
  services: Services,
  { tenantId, operation }: Pick<Wanted, 'tenantId' | 'operation'>,
): Promise<void> {
  const { isEnabled } = await findRoute(services, { tenantId, operation, serves: () => false });
  if (!isEnabled) throw OperationDisabled();
}

/** Whether `callProviders` would have somebody to try. @throws OperationDisabled (403) */
export async function hasProvider(services: Services, wanted: Wanted): Promise<boolean> {
  const { isEnabled, candidates } = await findRoute(services, wanted);
  if (!isEnabled) throw OperationDisabled();
  return candidates.length > 0;
}

type Trying = { candidates: readonly Candidate[]; deadline: AbortSignal; attemptMs: number; onSpent(): void };

async function tryEach<Result>(
  services: Services,
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
  // Whoever failed might have taken it.
  if (hasFailed || deadline.aborted) throw ProvidersFailed({ retryAfterSeconds: await patienceAsked(services, call) });
  if (refusing.size > 0) throw refusalBy(refusing, { services, call, candidates });
  return tryLastResort(services, call, { ...limits, candidates, passedOver });
}

/** Where nobody could be asked: the first that nobody else is trying just now, and the next where that does not take this. */
async function tryLastResort<Result>(
  services: Services,
  call: ProviderCall<Result>,
  { candidates, passedOver, ...limits }: Trying & { passedOver: readonly Candidate[] },
): Promise<Served<Result>> {
  const { tenantId } = call;
  const refusing = new Set<Candidate>();
  for (const candidate of candidates) {
    if (patienceOf(services, tenantId, candidate) !== undefined) continue;
    const { isOwnCredentials } = candidate;
    // Nothing of what comes of own credentials is written down, so these must not keep others from finding out.
    const isFree = isOwnCredentials ? passedOver.includes(candidate) : await mayTryEarly(services, candidate.row);
    if (!isFree) continue;
    const attempt = attemptAt(services, call, { ...limits, candidate, heedsCircuit: isOwnCredentials });
    const served = await (isOwnCredentials ? attempt : asProbe(services, candidate, attempt));
    if (typeof served === 'object') return served;
    if (served === 'failed') throw ProvidersFailed({ retryAfterSeconds: await patienceAsked(services, call) });
    if (served === 'refused') refusing.add(candidate);
  }
  if (refusing.size > 0) throw refusalBy(refusing, { services, call, candidates });
  const until = (candidate: Candidate) => patienceOf(services, tenantId, candidate);
  const retryAfterSeconds = secondsToRetry(services, candidates, until);
  throw ProvidersFailed({ retryAfterSeconds, details: { asked: false } });
}

/** How long all of them want to be left alone by now; undefined where one does not. */
async function patienceAsked(services: Services, wanted: Wanted): Promise<number | undefined> {
  const { candidates } = await findRoute(services, wanted);
  const until = (candidate: Candidate) => patienceOf(services, wanted.tenantId, candidate);
  const isAskedByAll = candidates.every((candidate) => until(candidate) !== undefined);
  return isAskedByAll && candidates.length > 0 ? secondsToRetry(services, candidates, until) : undefined;
}

type Asked = { services: Services; call: Pick<Wanted, 'tenantId'>; candidates: readonly Candidate[] };

/** The others are away, and nobody knows whether they take this. */
function refusalBy(refusing: ReadonlySet<Candidate>, { services, call, candidates }: Asked): AppError {
  const others = candidates.filter((candidate) => !refusing.has(candidate));
  if (others.length === 0) return ProvidersRefused();
  const until = (candidate: Candidate) => patienceOf(services, call.tenantId, candidate) ?? candidate.row.retry_at;
  return ProvidersRefused({ retryAfterSeconds: secondsToRetry(services, others, until) });
}

/** Of many callers that find a pause over, one gets to try. */
async function readinessNow(services: Services, tenantId: string, candidate: Candidate): Promise<Readiness> {
  const { row, isOwnCredentials } = candidate;
  if (patienceOf(services, tenantId, candidate) !== undefined) return 'out';
  const readiness = readinessOf(row, { now: services.now(), isOwnCredentials });
  return readiness === 'probe' && !(await mayProbe(services, row)) ? 'out' : readiness;
}

async function asProbe<Result>(services: Services, { row }: Candidate, attempt: Promise<Result>): Promise<Result> {
  try {
    return await attempt;
  } finally {
    await finishProbe(services, row).catch((error: unknown) => {
      services.log.error({ err: error, connectorId: row.id }, 'the end of a try could not be written down');
    });
  }
}

function secondsToRetry(
  services: Services,
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
