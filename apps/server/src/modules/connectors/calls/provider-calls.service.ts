import { withDeadline } from '#core/outbound/deadline';
import type { Services } from '#core/services';
import { attemptAt, type Served } from '#modules/connectors/calls/attempts.service';
import type { Provider, ProviderCall } from '#modules/connectors/calls/provider-call';
import { askedToWaitUntil } from '#modules/connectors/calls/own-patience';
import { asksPatience, readinessOf, secondsUntilRetry, type Readiness } from '#modules/connectors/calls/routing.rules';
import { findRoute, type Candidate, type Wanted } from '#modules/connectors/calls/routing.service';
import { NoProvider, OperationDisabled, ProvidersFailed } from '#modules/connectors/connectors.errors';
import { finishProbe, lastResortMs, mayProbe, mayTryEarly } from '#modules/connectors/health/health.service';
import { reserve } from '#modules/connectors/overrides/quotas.service';

export type { Provider, ProviderCall, ProviderFetch } from '#modules/connectors/calls/provider-call';

const defaultPatience = { attemptMs: 10_000, totalMs: 14_000 };

/**
 * Has the first provider that can do it carry out an operation, within the tenant's terms: those that its override names,
 * then its own by priority, then the installation's. Whoever asked for patience is passed over; whoever is known to fail,
 * too, while there are others, and is tried by one caller at a time where there are none.
 * @throws OperationDisabled (403), NoProvider (503) when nobody serves the operation, QuotaExceeded (429), ProvidersFailed
 *   (502) when all have failed, with Retry-After where none could be asked
 */
export async function callProviders<Result>(
  services: Services,
  call: ProviderCall<Result>,
): Promise<{ result: Result; provider: Provider }> {
  const { isEnabled, candidates, ceilings } = await findRoute(services, call);
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

/** Whether `callProviders` would have somebody to try. */
export async function hasProvider(services: Services, wanted: Wanted): Promise<boolean> {
  const { isEnabled, candidates } = await findRoute(services, wanted);
  return isEnabled && candidates.length > 0;
}

type Trying = { candidates: readonly Candidate[]; deadline: AbortSignal; attemptMs: number; onSpent(): void };

async function tryEach<Result>(
  services: Services,
  call: ProviderCall<Result>,
  { candidates, ...limits }: Trying,
): Promise<Served<Result>> {
  const { deadline } = limits;
  const passedOver: Candidate[] = [];
  let isAsked = false;
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
    isAsked ||= served === 'failed';
  }
  call.signal?.throwIfAborted();
  if (isAsked || deadline.aborted) throw ProvidersFailed();
  return tryLastResort(services, call, { ...limits, candidates, passedOver });
}

/** Where nobody could be asked: the first that nobody else is trying just now. */
async function tryLastResort<Result>(
  services: Services,
  call: ProviderCall<Result>,
  { candidates, passedOver, ...limits }: Trying & { passedOver: readonly Candidate[] },
): Promise<Served<Result>> {
  const { tenantId } = call;
  for (const candidate of candidates) {
    if (patienceOf(services, tenantId, candidate) !== undefined) continue;
    const { isOwnCredentials } = candidate;
    // Nothing of what comes of own credentials is written down, so these must not keep others from finding out.
    const isFree = isOwnCredentials ? passedOver.includes(candidate) : await mayTryEarly(services, candidate.row);
    if (!isFree) continue;
    const attempt = attemptAt(services, call, { ...limits, candidate, heedsCircuit: isOwnCredentials });
    const served = await (isOwnCredentials ? attempt : asProbe(services, candidate, attempt));
    if (typeof served === 'object') return served;
    if (served === 'failed') throw ProvidersFailed();
  }
  throw ProvidersFailed({ retryAfterSeconds: secondsToRetry(services, tenantId, candidates) });
}

/** Of many callers that find a pause over, one gets to try. */
async function readinessNow(services: Services, tenantId: string, candidate: Candidate): Promise<Readiness> {
  const { row, isOwnCredentials } = candidate;
  if (patienceOf(services, tenantId, candidate) !== undefined) return 'out';
  const readiness = readinessOf(row, { now: services.now(), isOwnCredentials });
  return readiness === 'probe' && !(await mayProbe(services, row)) ? 'out' : readiness;
}

/** Until when nobody calls it because it asked for that. */
function patienceOf(services: Services, tenantId: string, { row, isOwnCredentials }: Candidate): string | undefined {
  if (isOwnCredentials) return askedToWaitUntil(services, { tenantId, row });
  return asksPatience(row, services.now()) ? row.retry_at! : undefined;
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

function secondsToRetry(services: Services, tenantId: string, candidates: readonly Candidate[]): number {
  const now = services.now();
  const waits = candidates.map((candidate) => {
    const until = patienceOf(services, tenantId, candidate);
    return until === undefined ? lastResortMs / 1000 : secondsUntilRetry(until, now);
  });
  return Math.min(...waits);
}
