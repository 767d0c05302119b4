import { withDeadline } from '#core/outbound/deadline';
import type { Services } from '#core/services';
import { attemptAt, type Served } from '#modules/connectors/calls/attempts.service';
import type { Provider, ProviderCall } from '#modules/connectors/calls/provider-call';
import { lastResort, readinessOf, type Readiness } from '#modules/connectors/calls/routing.rules';
import { findRoute, type Candidate, type Wanted } from '#modules/connectors/calls/routing.service';
import { NoProvider, OperationDisabled, ProvidersFailed } from '#modules/connectors/connectors.errors';
import { mayProbe } from '#modules/connectors/health/health.service';
import { reserve } from '#modules/connectors/overrides/quotas.service';

export type { Provider, ProviderCall, ProviderFetch } from '#modules/connectors/calls/provider-call';

const defaultPatience = { attemptMs: 10_000, totalMs: 14_000 };

/**
 * Has the first provider that can do it carry out an operation, within the tenant's terms: those that its override names,
 * then its own by priority, then the installation's. Whoever is known to fail, or asked for patience, is passed over while
 * there are others.
 * @throws OperationDisabled (403), NoProvider (503) when nobody serves the operation, QuotaExceeded (429), ProvidersFailed
 *   (502) when all have failed
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
  try {
    const { attemptMs, totalMs } = call.patience ?? defaultPatience;
    const { tokens, ...served } = await withDeadline(totalMs, call.signal, (deadline) =>
      tryEach(services, call, { candidates, deadline, attemptMs: Math.min(attemptMs, totalMs) }),
    );
    await reservation.settle(tokens).catch((error: unknown) => {
      services.log.error({ err: error, tenantId, operation }, 'tokens could not be counted');
    });
    return served;
  } catch (error) {
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

type Trying = { candidates: readonly Candidate[]; deadline: AbortSignal; attemptMs: number };

async function tryEach<Result>(
  services: Services,
  call: ProviderCall<Result>,
  { candidates, ...limits }: Trying,
): Promise<Served<Result>> {
  const { deadline } = limits;
  let isAsked = false;
  for (const candidate of candidates) {
    if (deadline.aborted) break;
    const readiness = await readinessNow(services, candidate);
    if (readiness === 'out') continue;
    const served = await attemptAt(services, call, { ...limits, candidate, heedsCircuit: readiness === 'ready' });
    if (typeof served === 'object') return served;
    isAsked ||= served === 'failed';
  }
  call.signal?.throwIfAborted();
  const last = isAsked || deadline.aborted ? undefined : lastResortOf(candidates);
  if (last === undefined) throw ProvidersFailed();
  const served = await attemptAt(services, call, { ...limits, candidate: last, heedsCircuit: false });
  if (typeof served !== 'object') throw ProvidersFailed();
  return served;
}

/** Of many callers that find a pause over, one gets to try. */
async function readinessNow(services: Services, { row, isOwnCredentials }: Candidate): Promise<Readiness> {
  const readiness = readinessOf(row, { now: services.now(), isOwnCredentials });
  return readiness === 'probe' && !(await mayProbe(services, row)) ? 'out' : readiness;
}

function lastResortOf(candidates: readonly Candidate[]): Candidate | undefined {
  const row = lastResort(candidates.map((candidate) => candidate.row));
  return candidates.find((candidate) => candidate.row === row);
}
