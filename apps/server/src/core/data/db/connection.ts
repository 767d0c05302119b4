import pg from 'pg';

import { sendFlight } from '#core/data/db/flight';

/** Nothing was sent: PostgreSQL is unreachable, or more work waits than it can answer in time. */
export class ConnectionLostError extends Error {
  override name = 'ConnectionLostError';
}

/** TCP sends keep-alive probes after this idle time; ten probes without an answer close the connection. */
export const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

type Opening = {
  config: pg.ClientConfig;
  connectMs: number;
  /** Runs once on the new connection before its first flight. */
  onConnect: ((client: pg.Client) => Promise<void>) | undefined;
  onLost(connection: Connection): void;
};

const closeMs = 1000;

type Stream = { on(event: 'data', heard: () => void): void; destroy(): void };

/** One pipelined connection and its state for the pool. Times are those of `performance.now()`. */
export class Connection {
  readonly client: pg.Client;
  readonly openedAt = performance.now();
  flights = 0;
  /** When the server last sent bytes. */
  heardAt = this.openedAt;
  /** When the first of the present flights was sent. */
  busySince = this.openedAt;
  isProbing = false;
  /** Silent for too long: it gets no work until the server sends bytes again. */
  isSuspect = false;
  /** Takes no more work and is closed after its last flight. */
  isRetiring = false;
  #wasSilent = false;

  constructor(client: pg.Client) {
    this.client = client;
    streamOf(client).on('data', () => {
      this.heardAt = performance.now();
      this.isSuspect = false;
    });
  }

  isTrusted(): boolean {
    return !this.isSuspect && !this.isRetiring && !this.isProbing;
  }

  /** Silence of the server with a flight under way. */
  silentMs(now: number): number {
    return this.flights === 0 ? 0 : now - Math.max(this.busySince, this.heardAt);
  }

  /** Whether it was silent at this tick and the previous one: bytes may be unread while the process itself is blocked. */
  isStalled(now: number, stalledMs: number): boolean {
    const isSilent = this.silentMs(now) > stalledMs;
    const isStalled = isSilent && this.#wasSilent;
    this.#wasSilent = isSilent;
    return isStalled;
  }

  isIdle(now: number, idleMs: number): boolean {
    return this.flights === 0 && now - this.heardAt > idleMs;
  }

  /** Whether the server answers an empty message. */
  async probe(timeoutMs: number): Promise<boolean> {
    this.isProbing = true;
    const answer = Promise.withResolvers<boolean>();
    // Bytes that have arrived by then are read before the decision.
    const late = () => setImmediate(() => setImmediate(() => answer.resolve(false)));
    const timer = setTimeout(late, timeoutMs);
    sendFlight(this.client, [], (error) => answer.resolve(error === null));
    const isAlive = await answer.promise;
    clearTimeout(timer);
    this.isProbing = false;
    return isAlive;
  }

  /** Closes at once, because `end()` waits for answers that a frozen server never gives. */
  destroy(): void {
    streamOf(this.client).destroy();
  }

  /** Closes in order, or at once if the server does not answer. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.destroy(), closeMs);
    await this.client.end();
    clearTimeout(timer);
  }
}

/** @throws ConnectionLostError after `connectMs` at the latest */
export async function openConnection({ config, connectMs, onConnect, onLost }: Opening): Promise<Connection> {
  const client = new pg.Client({ ...config, ...keepAlive, pipeline: true });
  let connection: Connection | undefined;
  const lost = () => {
    if (connection !== undefined) onLost(connection);
  };
  client.on('error', lost);
  client.on('end', lost);
  const timer = setTimeout(() => streamOf(client).destroy(), connectMs);
  try {
    await client.connect();
    await onConnect?.(client);
  } catch (cause) {
    streamOf(client).destroy();
    throw new ConnectionLostError('cannot connect', { cause });
  } finally {
    clearTimeout(timer);
  }
  connection = new Connection(client);
  return connection;
}

/** The socket; with TLS it is known only once the connection is up. */
export function streamOf(client: pg.Client): Stream {
  return (client as unknown as { connection: { stream: Stream } }).connection.stream;
}
