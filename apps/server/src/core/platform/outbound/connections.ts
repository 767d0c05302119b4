import { LRUCache } from 'lru-cache';
import type { Socket } from 'node:net';
import { Agent, Pool, buildConnector, type Dispatcher } from 'undici';

import type { AddressPolicy } from '#core/platform/outbound/guarded-connect';

/** A pooled connection for one call. */
export type PooledConnection = { dispatcher: Dispatcher; release(): void };

export type Connections = {
  /** A pooled connection if `mayBeKept` allows it and one is free; otherwise a new one for this call. */
  acquire(origin: string, mayBeKept: boolean): PooledConnection;
  /** Lets calls under way end. */
  close(): Promise<void>;
};

type Limits = { connectMs: number; headersMs: number; totalMs: number; keepAliveMs: number; longestBodyBytes: number };

const keptOrigins = 16;
const keptPerOrigin = 8;
/** More than the headers of an answer need. */
const headBytes = 65_536;
/** Then the name is resolved and checked again. */
const maxConnectionAgeMs = 30_000;

/**
 * Every new connection leads to an address that was checked right before. A pooled connection stays at its address, so a name
 * that moves is resolved again when the connection ends, a few seconds later.
 */
export function createConnections(policy: AddressPolicy, limits: Limits): Connections {
  const connectTo = buildConnector({ timeout: limits.connectMs, lookup: policy.lookup });
  const connect: buildConnector.connector = (target, callback) => {
    try {
      policy.assertAllowed(target.hostname);
    } catch (error) {
      return callback(error as Error, null);
    }
    connectTo(target, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      limitReading(socket, 2 * limits.longestBodyBytes + headBytes);
      callback(null, socket);
    });
  };
  const common = { connect, headersTimeout: limits.headersMs, bodyTimeout: limits.totalMs };
  const single = new Agent({ ...common, pipelining: 0 });
  const kept = new LRUCache<string, { pool: Pool; running: number }>({
    max: keptOrigins,
    dispose: ({ pool }) => void pool.close(),
  });
  const keep = {
    connections: keptPerOrigin,
    keepAliveTimeout: limits.keepAliveMs,
    keepAliveMaxTimeout: limits.keepAliveMs,
  };
  const poolOf = (origin: string) => ({
    pool: new Pool(origin, { ...common, ...keep, clientTtl: maxConnectionAgeMs }),
    running: 0,
  });

  return {
    acquire(origin, mayBeKept) {
      const entry = mayBeKept && !single.closed ? (kept.get(origin) ?? poolOf(origin)) : undefined;
      // A call does not wait for a pooled connection: it begins at once with one of its own.
      if (entry === undefined || entry.running === keptPerOrigin)
        return { dispatcher: single, release: () => undefined };
      kept.set(origin, entry, { noDisposeOnSet: true });
      entry.running += 1;
      return { dispatcher: entry.pool, release: () => (entry.running -= 1) };
    },
    async close() {
      if (single.closed) return;
      const pools = [...kept.values()].map(({ pool }) => pool);
      await Promise.all([single, ...pools].map((dispatcher) => dispatcher.close()));
    },
  };
}

/** Bounds an answer as it is on the wire too: the parser drops some parts, such as chunk extensions, and these could continue without end. */
function limitReading(socket: Socket, maxBytes: number): void {
  const push = socket.push.bind(socket);
  let written = 0;
  let read = 0;
  socket.push = (chunk: Buffer | null, encoding) => {
    // A write begins the next request, so bytes that arrive afterwards belong to its answer.
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten;
      read = 0;
    }
    read += chunk?.byteLength ?? 0;
    if (read <= maxBytes) return push(chunk, encoding);
    socket.destroy(new Error('the answer is too long'));
    return false;
  };
}
