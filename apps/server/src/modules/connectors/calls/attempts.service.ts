import { orAborted } from '#core/base/concurrency/or-aborted';
import { AppError } from '#core/base/errors/app-error';
import { isTimeout, withDeadline } from '#core/platform/outbound/deadline';
import { OutboundError } from '#core/platform/outbound/outbound';
import type { Services } from '#core/platform/services';
import { isCallNotMade, ProviderFailure } from '#modules/connectors/calls/failures';
import { noteOwnPause } from '#modules/connectors/calls/own-pauses';
import { circuitOf } from '#modules/connectors/calls/pauses';
import type { Provider, ProviderCall, ProviderConnect, ProviderFetch } from '#modules/connectors/calls/provider-call';
import { refusalOf, toOutcome } from '#modules/connectors/calls/refusals';
import type { Candidate } from '#modules/connectors/calls/routing.service';
import { InvalidConnectorConfig } from '#modules/connectors/connectors.errors';
import type { Outcome } from '#modules/connectors/health/health.rules';
import { noteOutcome } from '#modules/connectors/health/health.service';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'log' | 'now' | 'outbound'>;

export type Served<Result> = { result: Result; provider: Provider; tokens: number };

/** Why an attempt failed; `refused`: the provider works, but refuses this request. */
export type Missed = 'refused' | 'failed' | 'not_asked';

export type Limits = {
  candidate: Candidate;
  /** Deadline of the whole call; also aborted by the caller's signal. */
  deadline: AbortSignal;
  attemptMs: number;
  /** Whether an open circuit prevents the attempt; false for a probe. */
  heedsCircuit: boolean;
  /** Called when a provider may have done the work although the caller gets no result. */
  onSpent(): void;
};

/** Observed state of a running attempt. */
type Attempt = {
  candidate: Candidate;
  circuit: string | undefined;
  startedAt: number;
  httpStatus: number | undefined;
  /** A request was started and may wait for a permit. */
  isQueued: boolean;
  /** A request was sent to the provider. */
  isSent: boolean;
  /** The provider has answered successfully at least once. */
  hasAnswered: boolean;
  /** Aborted at the timeout, or when the caller disconnects. */
  signal: AbortSignal | undefined;
};

/**
 * Makes one attempt at one provider and records its outcome. Nothing is recorded if no request was sent: the circuit was open,
 * or no permit became free.
 * @throws the reason of the caller's signal, and nothing else
 */
export async function attemptAt<Result>(
  services: Dependencies,
  call: ProviderCall<Result>,
  { candidate, deadline, attemptMs, heedsCircuit, onSpent }: Limits,
): Promise<Served<Result> | Missed> {
  const circuit = heedsCircuit ? circuitOf(call.tenantId, candidate) : undefined;
  const attempt = begin(candidate, circuit);
  try {
    const provider = openProvider(candidate);
    const { result, tokens } = await withDeadline(attemptMs, deadline, (signal) => {
      attempt.signal = signal;
      const fetch = fetchFor(services, call, { attempt, signal, timeoutMs: attemptMs });
      const run = async () => call.attempt(provider, fetch, signal, connectFor(services, call, attempt));
      return orAborted(run(), signal, setImmediate);
    });
    await noteSuccess(services, call, { attempt, tokens: tokens ?? null });
    return { result, provider, tokens: tokens ?? 0 };
  } catch (error) {
    if (mayHaveWorked(attempt)) onSpent();
    // A disconnected caller does not count as a failure of the provider.
    if (call.signal?.aborted === true) noteCancellation(services, call, attempt);
    call.signal?.throwIfAborted();
    if (wasNotAsked(services, attempt, error)) return 'not_asked';
    // A timeout after a very short time does not count as a failure.
    const isFair = !deadline.aborted || latencyOf(attempt) >= attemptMs / 2;
    const failure = toFailure(error);
    await noteFailure(services, call, { attempt, error, failure, isFair });
    return missedBy(failure);
  }
}

function begin(candidate: Candidate, circuit: string | undefined): Attempt {
  const nothing = { httpStatus: undefined, isQueued: false, isSent: false, hasAnswered: false, signal: undefined };
  return { candidate, circuit, startedAt: performance.now(), ...nothing };
}

/** True unless the provider refused or was unreachable. */
function mayHaveWorked({ isSent, hasAnswered, signal }: Attempt): boolean {
  return isSent && (hasAnswered || signal?.aborted === true);
}

function wasNotAsked(services: Dependencies, attempt: Attempt, error: unknown): boolean {
  const { candidate, isQueued, isSent, signal } = attempt;
  if (isCircuitOpen(error)) return true;
  // Without a signal, the deadline passed before the attempt started.
  const hasOnlyWaited = isTimeout(error) && !isSent && (isQueued || signal === undefined);
  if (!hasOnlyWaited && !isCallNotMade(error)) return false;
  services.log.warn({ connectorId: candidate.row.id, err: error }, 'no permit for a call to a provider became free');
  return true;
}

function isCircuitOpen(error: unknown): boolean {
  return error instanceof ProviderFailure && error.cause instanceof OutboundError && error.cause.isCircuitOpen;
}

function openProvider({ row, credentials }: Candidate): Provider {
  const { id: connectorId, api_key: key, api_base_url: baseUrl, config } = row;
  try {
    return { connectorId, key, baseUrl, config, credentials: credentials() };
  } catch (cause) {
    throw new ProviderFailure('credentials', { cause });
  }
}

function fetchFor(
  services: Dependencies,
  call: ProviderCall<unknown>,
  { attempt, signal: ofAttempt, timeoutMs }: { attempt: Attempt; signal: AbortSignal; timeoutMs: number },
): ProviderFetch {
  return async (url, init = {}) => {
    const signal = init.signal === undefined ? ofAttempt : AbortSignal.any([init.signal, ofAttempt]);
    const { circuit } = attempt;
    const { isIdempotent } = { isIdempotent: call.isIdempotent, ...init };
    const answer = await services.outbound
      .fetch(url, { timeoutMs, ...init, signal, circuit, isIdempotent, ...permitFor(call, attempt) })
      .catch((cause: unknown) => {
        throw new ProviderFailure('unreachable', { cause });
      });
    attempt.httpStatus = answer.status;
    attempt.hasAnswered ||= answer.ok;
    if (answer.ok) return answer;
    throw refusalOf(answer, services.now());
  };
}

function connectFor(services: Dependencies, call: ProviderCall<unknown>, attempt: Attempt): ProviderConnect {
  return (target) => services.outbound.connect({ ...target, ...permitFor(call, attempt) });
}

function permitFor({ tenantId }: ProviderCall<unknown>, attempt: Attempt) {
  attempt.isQueued = true;
  return { owner: tenantId, onPermit: () => void (attempt.isSent = true) };
}

async function noteSuccess(
  services: Dependencies,
  call: ProviderCall<unknown>,
  { attempt, tokens }: { attempt: Attempt; tokens: number | null },
): Promise<void> {
  const latencyMs = latencyOf(attempt);
  record(services, call, attempt, { outcome: 'success', failure: null, latencyMs, tokens });
  await noteHealth(services, attempt.candidate, { kind: 'success', latencyMs });
}

type Failed = { attempt: Attempt; error: unknown; failure: ProviderFailure | undefined; isFair: boolean };

async function noteFailure(
  services: Dependencies,
  call: ProviderCall<unknown>,
  { attempt, error, failure, isFair }: Failed,
): Promise<void> {
  const { candidate } = attempt;
  const facts = { connectorId: candidate.row.id, tenantId: call.tenantId, operation: call.operation };
  if (failure === undefined)
    services.log.error({ ...facts, err: error }, 'an attempt failed because of an internal error');
  else services.log.warn({ ...facts, failure: failure.kind, err: error }, 'a provider failed');
  const kind = failure?.kind ?? 'internal';
  const outcome = kind === 'rate_limited' ? 'rate_limited' : 'failure';
  record(services, call, attempt, { outcome, failure: kind, latencyMs: latencyOf(attempt), tokens: null });
  if (failure === undefined || !isFair) return;
  if (candidate.isOwnCredentials) noteOwnPause(services, { tenantId: call.tenantId, ...candidate }, toOutcome(failure));
  else await noteHealth(services, candidate, toOutcome(failure));
}

/** Recorded without an effect on health: the provider was called, but the outcome is unknown. */
function noteCancellation(services: Dependencies, call: ProviderCall<unknown>, attempt: Attempt): void {
  if (!attempt.isSent) return;
  record(services, call, attempt, {
    outcome: 'failure',
    failure: 'cancelled',
    latencyMs: latencyOf(attempt),
    tokens: null,
  });
}

/** A temporary refusal allows a retry, like any other failure. */
function missedBy(failure: ProviderFailure | undefined): Missed {
  return failure?.kind === 'refused' && !failure.mayPass ? 'refused' : 'failed';
}

/** Undefined for an internal error, which does not concern the provider. */
function toFailure(error: unknown): ProviderFailure | undefined {
  if (error instanceof ProviderFailure) return error;
  if (error instanceof OutboundError || isTimeout(error)) return new ProviderFailure('unreachable', { cause: error });
  // Stored settings may no longer be valid.
  if (error instanceof AppError && error.details?.['code'] === InvalidConnectorConfig.reason)
    return new ProviderFailure('credentials', { cause: error });
  // Invalid JSON.
  return error instanceof SyntaxError ? new ProviderFailure('content', { cause: error }) : undefined;
}

/** Outcomes with a tenant's own credentials do not affect the health of the shared connector. */
async function noteHealth(
  services: Dependencies,
  { row, isOwnCredentials }: Candidate,
  outcome: Outcome,
): Promise<void> {
  if (isOwnCredentials) return;
  try {
    await noteOutcome(services, row, { outcome, at: services.now(), isCheck: false });
  } catch (error) {
    services.log.error({ err: error, connectorId: row.id }, 'the outcome of a call could not be written');
  }
}

type Ended = {
  outcome: 'success' | 'failure' | 'rate_limited';
  failure: string | null;
  latencyMs: number;
  tokens: number | null;
};

function record(services: Dependencies, call: ProviderCall<unknown>, attempt: Attempt, ended: Ended): void {
  const { row, isOwnCredentials } = attempt.candidate;
  services.callLog.record({
    tenantId: call.tenantId,
    operation: call.operation,
    connectorId: row.id,
    provider: row.api_key,
    httpStatus: attempt.httpStatus ?? null,
    ownCredentials: isOwnCredentials,
    characters: call.characters ?? null,
    ...call.caller,
    ...ended,
  });
}

function latencyOf({ startedAt }: Attempt): number {
  return Math.round(performance.now() - startedAt);
}
