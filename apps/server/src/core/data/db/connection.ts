import pg from 'pg';

import { sendFlight } from '#core/data/db/flight';

/** PostgreSQL could not be reached, or has more work queued than it can answer in time: nothing was sent. */
export class ConnectionLostError extends Error {
  override name = 'ConnectionLostError';
}

/** TCP asks after this rest whether the other end is still there; ten questions without an answer close the connection. */
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

/** One pipelined connection, with what a pool has to know of it. Times are those of `performance.now()`. */
export class Connection {
  readonly client: pg.Client;
  readonly openedAt = performance.now();
  flights = 0;
  /** When the server last sent anything. */
  heardAt = this.openedAt;
  /** When the first of the present flights was sent. */
  busySince = this.openedAt;
  isProbing = false;
  /** Silent for so long that it gets no more work for now. */
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

  /** Whether it was silent for that long at this look and at the one before: bytes may lie unread while the process stands still. */
  isStalled(now: number, stallMs: number): boolean {
    const isSilent = this.silentMs(now) > stallMs;
    const isStalled = isSilent && this.#wasSilent;
    this.#wasSilent = isSilent;
    return isStalled;
  }

  hasRested(now: number, pauseMs: number): boolean {
    return this.flights === 0 && now - this.heardAt > pauseMs;
  }

  /** Whether the server answers a message that costs it nothing. */
  async probe(timeoutMs: number): Promise<boolean> {
    this.isProbing = true;
    const answer = Promise.withResolvers<boolean>();
    // What has arrived by then is read before the verdict.
    const late = () => setImmediate(() => setImmediate(() => answer.resolve(false)));
    const timer = setTimeout(late, timeoutMs);
    sendFlight(this.client, [], (error) => answer.resolve(error === null));
    const isAlive = await answer.promise;
    clearTimeout(timer);
    this.isProbing = false;
    return isAlive;
  }

  /** At once: `end()` waits for answers that a frozen server never gives. */
  destroy(): void {
    streamOf(this.client).destroy();
  }

  /** In order, if the other end still hears of it. */
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
