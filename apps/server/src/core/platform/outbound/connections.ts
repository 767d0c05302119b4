import { LRUCache } from 'lru-cache';
import type { Socket } from 'node:net';
import { Agent, Pool, buildConnector, type Dispatcher } from 'undici';

import type { Judgement } from '#core/platform/outbound/judged-connect';

/** A connection for one call. */
export type Lease = { dispatcher: Dispatcher; giveBack(): void };

export type Connections = {
  /** A kept connection where one may be used, else one of its own. */
  lease(origin: string, mayBeKept: boolean): Lease;
  /** Lets calls under way end. */
  close(): Promise<void>;
};

type Limits = { connectMs: number; headersMs: number; totalMs: number; keptMs: number; longestBodyBytes: number };

const keptOrigins = 16;
const keptPerOrigin = 8;
/** More than an answer has in front of its body. */
const headBytes = 65_536;
/** So old at most: then the name is asked for and judged again. */
const oldestMs = 30_000;

/**
 * Every connection is made to an address that was judged right before. Kept ones are few and for a few seconds, and
 * lead where they led: a name that has moved meanwhile is asked for when they are gone.
 */
export function createConnections(judgement: Judgement, limits: Limits): Connections {
  const connectTo = buildConnector({ timeout: limits.connectMs, lookup: judgement.lookup });
  const connect: buildConnector.connector = (target, callback) => {
    try {
      judgement.assertOpen(target.hostname);
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
  const keep = { connections: keptPerOrigin, keepAliveTimeout: limits.keptMs, keepAliveMaxTimeout: limits.keptMs };
  const poolOf = (origin: string) => ({
    pool: new Pool(origin, { ...common, ...keep, clientTtl: oldestMs }),
    running: 0,
  });

  return {
    lease(origin, mayBeKept) {
      const entry = mayBeKept && !single.closed ? (kept.get(origin) ?? poolOf(origin)) : undefined;
      // A call does not wait for a pooled connection: it begins at once with one of its own.
      if (entry === undefined || entry.running === keptPerOrigin)
        return { dispatcher: single, giveBack: () => undefined };
      kept.set(origin, entry, { noDisposeOnSet: true });
      entry.running += 1;
      return { dispatcher: entry.pool, giveBack: () => (entry.running -= 1) };
    },
    async close() {
      if (single.closed) return;
      const pools = [...kept.values()].map(({ pool }) => pool);
      await Promise.all([single, ...pools].map((dispatcher) => dispatcher.close()));
    },
  };
}

/** Bounds an answer as it is on the wire too: parts that the parser drops, such as what stands behind the size of a piece, could go on for ever. */
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
