import type { FastifyReply, FastifyRequest } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';

import type { ErrorDefinition } from '#core/base/errors/app-error';
import { tookNoEffect } from '#core/data/db/sql-state';
import type { Log } from '#core/data/log/log';
import { presentError, retryAfterOf, summarizeError, toAppError } from '#core/http/error-body';
import { createIdempotencyKeys, type KeyClaim, type StoredAnswer } from '#core/http/idempotency/idempotency-keys';
import { outcomeOf, payloadText, readIdempotencyKey, scopeText } from '#core/http/idempotency/idempotency.rules';
import { trackSideEffects, type SideEffects } from '#core/http/idempotency/side-effects';
import type { Caller, Operation } from '#core/http/operation';
import type { OperationInput, Route } from '#core/http/route';
import type { Services } from '#core/platform/services';

const leaseMs = 60_000;
const retryMs = 1000;
/** For operations whose duration the client controls, such as streams. */
const longLeaseMs = 15 * 60_000;

type Options = {
  services: Services;
  /** Which error a violated constraint means to the caller. */
  constraints: Readonly<Record<string, ErrorDefinition>>;
  inspectAnswer?: ((route: Route, status: number, payload: string) => void) | undefined;
};

type Keyed = { request: FastifyRequest; reply: FastifyReply; input: OperationInput; caller: Caller; header: string };

type Handled = Pick<Keyed, 'input' | 'caller'> & { services: Services };
type Failed = { request: FastifyRequest; claim: KeyClaim; sideEffects: SideEffects };

/** Answers requests that carry an `Idempotency-Key`: a replay gets the stored answer, byte for byte. */
export type AnswerKeyed = (operation: Operation, keyed: Keyed) => Promise<FastifyReply>;

export function createKeyedAnswers({ services, constraints, inspectAnswer }: Options): AnswerKeyed {
  const keys = createIdempotencyKeys(services);
  const recordOutcome = createOutcomeWriter(services.log.child({ service: 'http' }), services.isServing);

  /** Ends the claim of a failed request: returns the refusal as the answer to store, or rethrows the error. */
  async function answerFailure(error: unknown, { request, claim, sideEffects }: Failed): Promise<StoredAnswer> {
    const failure = toAppError(error, constraints);
    const outcome = outcomeOf(failure, error, sideEffects);
    if (outcome === 'released') await recordOutcome(request.id, () => keys.release(claim));
    if (outcome === 'unknown') await recordOutcome(request.id, () => keys.markUnknown(claim));
    if (outcome !== 'stored') throw error;
    request.failure = summarizeError(failure);
    services.metrics.recordRefusal(failure);
    const seconds = retryAfterOf(failure);
    const headers: Record<string, string> = seconds === undefined ? {} : { 'retry-after': String(seconds) };
    return { status: failure.status, headers, body: JSON.stringify(presentError(failure, request.id)) };
  }

  return async (operation, { request, reply, input, caller, header }) => {
    const { route } = operation;
    operation.validate(input);
    const principal = caller.principal!;
    const claim = await keys.claim({
      tenantId: principal.tenantId,
      scopeText: scopeText(route, principal, input.params, readIdempotencyKey(header)),
      payloadText: payloadText(input),
      leaseMs: route.takesLong ? longLeaseMs : leaseMs,
    });
    if ('body' in claim) return send(reply.header('idempotency-replayed', 'true'), claim);
    const sideEffects = trackSideEffects(operation.services);
    const answer = await answerOf(operation, { input, caller, services: sideEffects.services }).catch(
      (error: unknown) => answerFailure(error, { request, claim, sideEffects }),
    );
    await recordOutcome(request.id, () => keys.store(claim, answer));
    return send(reply, answer);
  };

  /** The answer of the handler, before it is sent. */
  async function answerOf({ route, status: ordinary, handle }: Operation, { input, caller, services: given }: Handled) {
    const headers: Record<string, string> = {};
    let status = ordinary;
    const setHeader = (name: string, value: string) => void (headers[name] = value);
    const setStatus = (other: number) => void (status = other);
    const value = await handle(input, { ...caller, setHeader, setStatus }, given);
    const body = value === undefined ? null : JSON.stringify(value);
    inspectAnswer?.(route, status, body ?? '');
    return { status, headers, body } satisfies StoredAnswer;
  }
}

function send(reply: FastifyReply, { status, headers, body }: StoredAnswer): FastifyReply {
  reply.status(status).headers(headers);
  return body === null ? reply.send() : reply.header('content-type', 'application/json; charset=utf-8').send(body);
}

/**
 * Records the outcome of a claim. If the database does not accept it at once, retries run in the background for as long as most
 * leases last. The request does not wait: the outcome is final even if it is not recorded, and the claim then ends as unknown.
 */
function createOutcomeWriter(log: Log, isServing: Services['isServing']) {
  async function retry(requestId: string, write: () => Promise<void>): Promise<void> {
    let last: unknown;
    for (const until = performance.now() + leaseMs; performance.now() < until && isServing();) {
      await sleep(retryMs, undefined, { ref: false });
      try {
        return await write();
      } catch (error) {
        last = error;
      }
    }
    log.error({ err: last, requestId }, 'the outcome of an idempotency key was not recorded');
  }

  return async (requestId: string, write: () => Promise<void>): Promise<void> => {
    try {
      // Where the connection broke under the request, the first to notice may be this.
      await write().catch((error: unknown) => (tookNoEffect(error) ? Promise.reject(error as Error) : write()));
    } catch {
      void retry(requestId, write);
    }
  };
}
