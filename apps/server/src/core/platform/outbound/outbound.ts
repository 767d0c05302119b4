import type { Socket } from 'node:net';

import { AppError } from '#core/base/errors/app-error';
import type { Within } from '#core/base/tracing/tracing';
import { createAddressGuard } from '#core/platform/outbound/addresses';
import { createBulkhead } from '#core/platform/outbound/bulkhead';
import { createCall, type Call, type OutboundInit } from '#core/platform/outbound/call';
import { CircuitOpen, CallNotMade, NotSendable, createCircuits, type Circuits } from '#core/platform/outbound/circuits';
import { createConnections } from '#core/platform/outbound/connections';
import { withDeadline } from '#core/platform/outbound/deadline';
import { createAddressPolicy, type Lookup } from '#core/platform/outbound/guarded-connect';
import { createQueue } from '#core/platform/outbound/queue';
import { createLookup } from '#core/platform/outbound/resolver';
import { openSocket, type SocketTarget } from '#core/platform/outbound/socket';
import { isMailPort, literalAddress, mailTargetOf, parseTarget } from '#core/platform/outbound/target';

export type { OutboundInit } from '#core/platform/outbound/call';

/** The one way to the outside: to public addresses only, within fixed limits. */
export type Outbound = {
  /**
   * Fetches as the platform's `fetch` does, but follows no redirect at all (it is the answer) and has read the whole
   * body when it returns: 3 s to connect, 10 s to headers, 30 s for everything, 256 KiB after decompression, where the call
   * states nothing else.
   * @throws OutboundError for every failure, an abort of the caller's `signal` included
   */
  fetch(url: string | URL, init?: OutboundInit): Promise<Response>;
  /**
   * Connects for mail: its ports are open to this and to nothing else.
   * @throws OutboundError for every failure
   */
  connect(target: SocketTarget): Promise<Socket>;
  /** False if the scheme, the credentials, the port or the IP address would be refused without a call. */
  canTarget(url: string | URL): boolean;
  /** Until when calls of a circuit fail at once; undefined if the circuit is closed. */
  circuitOpenUntil: Circuits['openUntil'];
  /** Lets calls under way end. */
  close(): Promise<void>;
};

/** A call without an answer. The text is always the same, so that it does not reveal open ports; `cause` is for the log. */
export class OutboundError extends AppError {
  override name = 'OutboundError';
  /** True if no request was made, because earlier calls have failed. */
  readonly isCircuitOpen: boolean;
  /** True if the failure says nothing about the provider: no permit became free before the timeout, or the caller cancelled. */
  readonly isCallNotMade: boolean;

  constructor(cause: unknown) {
    super('UPSTREAM_ERROR', 'The outside service gave no usable answer.', { cause });
    this.isCircuitOpen = cause instanceof CircuitOpen;
    this.isCallNotMade = cause instanceof CallNotMade && !(cause instanceof NotSendable);
  }
}

const defaultLimits = {
  connectMs: 3000,
  headersMs: 10_000,
  totalMs: 30_000,
  /** The maximum of `timeoutMs` of a call. */
  longestMs: 120_000,
  maxBodyBytes: 262_144,
  longestBodyBytes: 4_194_304,
  maxSockets: 50,
  /** Shorter than in common servers, so that few pooled connections turn out to be closed. */
  keepAliveMs: 3000,
};

export type OutboundOptions = {
  /** Private addresses and CIDR ranges that may be called all the same. */
  allowedRanges: readonly string[];
  /** Where this service listens: it does not call itself. */
  ownPort: number;
  limits?: Partial<typeof defaultLimits>;
  lookup?: Lookup;
  /** Told of every call of a request. */
  within?: Within | undefined;
};

export function createOutbound(options: OutboundOptions): Outbound {
  const { ownPort, within } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const guard = createAddressGuard(options.allowedRanges);
  const policy = createAddressPolicy(guard, options.lookup ?? createLookup({ deadlineMs: limits.connectMs }));
  const connections = createConnections(policy, limits);
  const bulkhead = createBulkhead(limits.maxSockets);
  const circuits = createCircuits();
  const call = createCall({ connections, bulkhead, circuits, limits });

  async function connect(target: SocketTarget): Promise<Socket> {
    if (!isMailPort(target.port, ownPort)) throw new Error('this port is never connected to');
    policy.assertAllowed(target.host);
    const origin = `${target.host}:${target.port}`;
    const queue = createQueue(bulkhead, { origin: origin, owner: target.owner }, target.onPermit);
    return withDeadline(limits.connectMs, target.signal, async (signal) => {
      const release = await queue.enter(signal);
      return openSocket({ ...target, signal }, policy, release);
    }).catch((error: unknown) => {
      throw queue.classify(error);
    });
  }

  return {
    async fetch(given, init = {}) {
      const url = parseTarget(given, ownPort);
      try {
        if (url === undefined) throw new Error('this address is never called');
        return await (within === undefined ? call(url, init) : traced(within, url, init, call));
      } catch (error) {
        throw new OutboundError(error);
      }
    },
    connect: (target) =>
      connect(target).catch((error: unknown) => {
        throw new OutboundError(error);
      }),
    canTarget(given) {
      const mail = mailTargetOf(given);
      const mailHost = mail !== undefined && isMailPort(mail.port, ownPort) ? mail.host : undefined;
      const host = parseTarget(given, ownPort)?.hostname ?? mailHost;
      const literal = host === undefined ? undefined : literalAddress(host);
      return host !== undefined && (literal === undefined || guard.isAllowed(literal));
    },
    circuitOpenUntil: circuits.openUntil,
    close: connections.close,
  };
}

/** The span has no path and query, which may carry secrets, and third parties get no trace headers. */
function traced(within: Within, url: URL, init: OutboundInit, call: Call): Promise<Response> {
  const { method = 'GET' } = init;
  const { hostname, port, protocol } = url;
  const attributes = {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'url.scheme': protocol.slice(0, -1),
  };
  return within({ name: method, attributes }, async (tell) => {
    const answer = await call(url, init);
    tell({ 'http.response.status_code': answer.status });
    return answer;
  });
}
