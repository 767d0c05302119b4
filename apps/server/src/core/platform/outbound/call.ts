import { Readable } from 'node:stream';
import type { ReadableStream as StreamOfBytes } from 'node:stream/web';
import { setTimeout as sleep } from 'node:timers/promises';
import { errors } from 'undici';

import { orAborted } from '#core/base/concurrency/or-aborted';
import type { Bulkhead } from '#core/platform/outbound/bulkhead';
import { CallNotMade, NotSendable, type Circuits } from '#core/platform/outbound/circuits';
import type { Connections } from '#core/platform/outbound/connections';
import { withDeadline } from '#core/platform/outbound/deadline';
import { acceptedEncodings, exchange, toResponse, type WireRequest } from '#core/platform/outbound/exchange';
import { AddressRefused } from '#core/platform/outbound/guarded-connect';
import { createQueue, type Queue } from '#core/platform/outbound/queue';
import { createRetryBudget, isConnectionReset, isTemporary, retryDelayMs } from '#core/platform/outbound/retry-budget';

export type OutboundInit = {
  method?: string;
  headers?: Readonly<Record<string, string>> | Headers;
  body?: string | Uint8Array | ArrayBuffer | URLSearchParams | ReadableStream | null | undefined;
  signal?: AbortSignal | undefined;
  /**
   * The key of the circuit breaker: after five failures in a row (no answer, or 5xx) all calls of this
   * key fail at once for 10 s, then one call tests the provider.
   */
  circuit?: string | undefined;
  /**
   * True if the call is idempotent. Then a pooled connection may be used, and a call that got no byte of an answer, or 502, 503 or
   * 504 without Retry-After, is retried once within the retry budget.
   */
  isIdempotent?: boolean | undefined;
  /**
   * True if the provider detects duplicates, by an id in the request. Then a pooled connection may be used, and a call whose
   * connection was cut before a byte of an answer is retried once within the retry budget. Every answer is final.
   */
  hasIdempotencyKey?: boolean | undefined;
  /** The owner of the call: all calls of one owner together hold a quarter of the permits at most. */
  owner?: string | undefined;
  /** Called when the call has its permit and is about to be sent; before, no request was made. */
  onPermit?: (() => void) | undefined;
  /** The whole call: 30 s by default, of which 10 s for the headers; 120 s at most. */
  timeoutMs?: number | undefined;
  /** Length of the answer: 256 KiB by default, 4 MiB at most. Answers longer than 256 KiB are read on a thread. */
  maxBytes?: number | undefined;
};

export type Call = (url: URL, init: OutboundInit) => Promise<Response>;

type Surroundings = {
  connections: Connections;
  bulkhead: Bulkhead;
  circuits: Circuits;
  limits: { headersMs: number; totalMs: number; longestMs: number; maxBodyBytes: number; longestBodyBytes: number };
};

type Attempt = {
  url: URL;
  request: WireRequest;
  signal: AbortSignal;
  maxBytes: number;
  enter: Queue['enter'];
};

/** Calls through their circuits, each within one deadline and made twice at most. */
export function createCall({ connections, bulkhead, circuits, limits }: Surroundings): Call {
  const budget = createRetryBudget();

  /** @param onAnswer told when the first byte of an answer has come */
  async function attempt(one: Attempt, mayBeKept: boolean, onAnswer: () => void): Promise<Response> {
    const { url, request, signal, maxBytes } = one;
    const { origin } = url;
    const release = await one.enter(signal);
    const connection = connections.acquire(origin, mayBeKept);
    const onEnd = () => {
      connection.release();
      release();
    };
    const whole = { ...request, origin };
    const answer = await exchange(connection.dispatcher, whole, { signal, maxBytes, onAnswer, onEnd }).catch(
      (cause: unknown) => {
        throw cause instanceof errors.InvalidArgumentError ? new NotSendable('this cannot be sent', { cause }) : cause;
      },
    );
    // Unpacking waits for a thread of the process, which does not heed the signal.
    return orAborted(toResponse(answer, maxBytes), signal);
  }

  async function attempts(one: Attempt, init: OutboundInit): Promise<Response> {
    const { circuit = '' } = init;
    const isIdempotent = init.isIdempotent === true;
    const mayBeKept = isIdempotent || init.hasIdempotencyKey === true;
    const mayRepeat = () => !(init.body instanceof ReadableStream) && budget.spend(circuit);
    let hasBegun = false;
    budget.earn(circuit);
    try {
      const answer = await attempt(one, mayBeKept, () => (hasBegun = true));
      if (!isIdempotent || !isTemporary(answer) || !mayRepeat()) return answer;
    } catch (error) {
      const isFinal = hasBegun || one.signal.aborted || !isRetryable(error, init);
      if (isFinal || !mayRepeat()) throw error;
    }
    await sleep(retryDelayMs(), undefined, { signal: one.signal });
    return attempt(one, false, () => undefined);
  }

  return (url, init) => {
    const maxBytes = Math.min(init.maxBytes ?? limits.maxBodyBytes, limits.longestBodyBytes);
    const timeoutMs = Math.min(init.timeoutMs ?? limits.totalMs, limits.longestMs);
    const headersTimeout = init.timeoutMs === undefined ? limits.headersMs : Math.max(limits.headersMs, timeoutMs);
    const request = { ...toRequest(url, init), headersTimeout, bodyTimeout: timeoutMs };
    const work = async () => {
      const queue = createQueue(bulkhead, { origin: url.origin, owner: init.owner }, init.onPermit);
      const one = { url, request, maxBytes, enter: queue.enter };
      return withDeadline(timeoutMs, init.signal, (signal) => attempts({ ...one, signal }, init)).catch(
        (error: unknown) => {
          throw isCancelled(init.signal)
            ? new CallNotMade('the call was cancelled', { cause: error })
            : queue.classify(error);
        },
      );
    };
    return init.circuit === undefined ? work() : circuits.run(init.circuit, work);
  };
}

/** Whether a call that got no answer may be attempted once more. */
function isRetryable(error: unknown, { isIdempotent = false, hasIdempotencyKey = false }: OutboundInit): boolean {
  if (error instanceof AddressRefused || error instanceof CallNotMade) return false;
  return isIdempotent || (hasIdempotencyKey && isConnectionReset(error));
}

/** A timeout is a failure of the provider; any other abort is a decision of the caller. */
function isCancelled(signal: AbortSignal | undefined): boolean {
  if (signal?.aborted !== true) return false;
  const { reason } = signal as { reason: unknown };
  return !(reason instanceof DOMException && reason.name === 'TimeoutError');
}

function toRequest(url: URL, init: OutboundInit): WireRequest {
  const { method = 'GET', body = null } = init;
  const type = defaultType(body);
  const headers = {
    'user-agent': 'Atrium',
    accept: '*/*',
    ...(type === undefined ? {} : { 'content-type': type }),
    ...lowerCased(init.headers),
    'accept-encoding': acceptedEncodings,
  };
  return { path: `${url.pathname}${url.search}`, method: method.toUpperCase(), headers, body: toBody(body) };
}

/** Lower case, so that a header of the caller replaces the default header. */
function lowerCased(headers: OutboundInit['headers'] = {}): Record<string, string> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}

function defaultType(body: OutboundInit['body']): string | undefined {
  if (typeof body === 'string') return 'text/plain;charset=UTF-8';
  return body instanceof URLSearchParams ? 'application/x-www-form-urlencoded;charset=UTF-8' : undefined;
}

function toBody(body: OutboundInit['body']): string | Uint8Array | Readable | null {
  if (body instanceof URLSearchParams) return body.toString();
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (body instanceof ReadableStream) return Readable.fromWeb(body as StreamOfBytes);
  return body ?? null;
}
