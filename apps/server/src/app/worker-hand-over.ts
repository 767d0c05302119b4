import type { Worker } from 'node:cluster';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import type { Config } from '#app/config';
import { listenError } from '#app/start-errors';
import type { FromWorker, ToWorker } from '#app/worker-messages';
import type { Log } from '#core/data/log/log';
import type { ConnectionBounds } from '#core/http/connection-bounds';

const defaultLimits = {
  /** Maximum number of connections that wait for a worker; further ones are closed. */
  maxWaiting: 2000,
  /** Maximum wait of a connection until a worker takes it; then it is closed. */
  timeoutMs: 30_000,
};

/** A connection that no worker has confirmed yet. */
type Held = { id: number; socket: Socket; timer: NodeJS.Timeout; worker: Worker | undefined; release: () => void };

/** A confirmed connection, which still counts for its address. */
type Taken = Pick<Held, 'worker' | 'release'>;

/**
 * Accepts the connections of all workers and distributes them in turn. A worker gets the next connection after it has confirmed the
 * last one. Until then the connection is kept here, and goes to another worker if that one ends.
 */
export class HandOver {
  readonly #log: Log;
  readonly #limits: typeof defaultLimits;
  readonly #servers: Server[] = [];
  readonly #workers = new Set<Worker>();
  /** Workers that can take a connection, in the order of their turns. */
  readonly #free = new Set<Worker>();
  #waiting = new Set<Held>();
  readonly #sent = new Map<number, Held>();
  readonly #taken = new Map<number, Taken>();
  readonly #bounds: ConnectionBounds;
  #lastId = 0;
  #isTurningAway = false;

  constructor(log: Log, bounds: ConnectionBounds, limits: Partial<typeof defaultLimits> = {}) {
    this.#log = log;
    this.#bounds = bounds;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /**
   * @returns the port in use, also if PORT is 0.
   * @throws StartError if the address is not available.
   */
  async listen(config: Config): Promise<number> {
    const { address, port } = await this.#listenAt(config.HOST, config.PORT).catch((error: unknown) => {
      throw listenError(error, config);
    });
    if (config.HOST !== 'localhost') return port;
    for (const other of await lookup(config.HOST, { all: true })) {
      // A machine without IPv6 may still resolve the name to an IPv6 address.
      if (other.address !== address) await this.#listenAt(other.address, port).catch(() => undefined);
    }
    return port;
  }

  /** Lets a worker get connections. */
  add(worker: Worker): void {
    this.#workers.add(worker);
    this.#free.add(worker);
    worker.on('message', (message: FromWorker) => this.#hear(worker, message));
    // At 'close' all messages are read; 'disconnect' is not emitted while a connection is in transit.
    worker.process.once('close', () => this.#lose(worker));
    this.#giveOut();
  }

  /** Sends no more connections to a worker; earlier ones arrive before its next message. */
  remove(worker: Worker): void {
    this.#workers.delete(worker);
    this.#free.delete(worker);
  }

  /** Stops accepting and distributes waiting connections, so that workers have them before they are told to stop. */
  close(): void {
    for (const server of this.#servers) server.close();
    while (this.#workers.size > 0 && this.#waiting.size > 0) {
      for (const worker of this.#workers) this.#free.add(worker);
      this.#giveOut();
    }
    for (const held of this.#waiting) this.#giveUp(held);
  }

  async #listenAt(host: string, port: number): Promise<AddressInfo> {
    // Nothing is read here, so that the worker gets every byte.
    const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => this.#accept(socket));
    server.listen({ host, port });
    await once(server, 'listening');
    server.on('error', (error) => this.#log.error({ err: error }, 'a connection cannot be accepted'));
    this.#servers.push(server);
    return server.address() as AddressInfo;
  }

  #accept(socket: Socket): void {
    if (this.#waiting.size >= this.#limits.maxWaiting) {
      this.#turnAway(socket);
      return;
    }
    const release = this.#bounds.take(socket.remoteAddress);
    if (release === undefined) {
      socket.destroy();
      return;
    }
    const timer = setTimeout(() => this.#giveUp(held), this.#limits.timeoutMs);
    const held: Held = { id: ++this.#lastId, socket, timer, worker: undefined, release };
    this.#waiting.add(held);
    this.#giveOut();
  }

  #giveOut(): void {
    for (const held of this.#waiting) {
      const [worker] = this.#free;
      if (worker === undefined) return;
      this.#waiting.delete(held);
      this.#free.delete(worker);
      this.#send(held, worker);
    }
  }

  #send(held: Held, worker: Worker): void {
    held.worker = worker;
    this.#sent.set(held.id, held);
    const message: ToWorker = { kind: 'connection', id: held.id };
    worker.send(message, held.socket, { keepOpen: true }, (error) => {
      // A worker that cannot get messages is useless; its end gives the connection to another one.
      if (error !== null) worker.process.kill('SIGKILL');
    });
  }

  #hear(worker: Worker, message: FromWorker): void {
    if (message.kind === 'taken') {
      this.#letGo(message.id);
      if (this.#workers.has(worker)) this.#free.add(worker);
    } else if (message.kind === 'declined') {
      this.remove(worker);
      this.#takeBack(message.id);
    } else {
      if (message.kind === 'closed') this.#release(message.id);
      return;
    }
    this.#giveOut();
  }

  #release(id: number): void {
    this.#taken.get(id)?.release();
    this.#taken.delete(id);
  }

  #lose(worker: Worker): void {
    this.remove(worker);
    for (const held of this.#sent.values()) {
      if (held.worker === worker) this.#takeBack(held.id);
    }
    for (const [id, taken] of this.#taken) {
      if (taken.worker === worker) this.#release(id);
    }
    this.#giveOut();
  }

  #takeBack(id: number): void {
    const held = this.#sent.get(id);
    if (held === undefined) return;
    this.#sent.delete(id);
    held.worker = undefined;
    // This connection has waited longest.
    this.#waiting = new Set([held, ...this.#waiting]);
  }

  /** Closes only the descriptor of this process; the connection continues in the worker. */
  #letGo(id: number): void {
    const held = this.#sent.get(id);
    if (held === undefined) return;
    this.#sent.delete(id);
    clearTimeout(held.timer);
    this.#taken.set(id, { worker: held.worker, release: held.release });
    held.socket.destroy();
    this.#isTurningAway = false;
  }

  /** Closes a connection that was not confirmed in time; a slow worker that has it may still answer it. */
  #giveUp(held: Held): void {
    clearTimeout(held.timer);
    this.#waiting.delete(held);
    this.#sent.delete(held.id);
    held.release();
    this.#turnAway(held.socket);
    if (held.worker !== undefined && this.#workers.has(held.worker)) this.#free.add(held.worker);
    this.#giveOut();
  }

  #turnAway(socket: Socket): void {
    socket.destroy();
    // One warning for many connections.
    if (!this.#isTurningAway) this.#log.warn('connections are closed without an answer: no worker accepts them');
    this.#isTurningAway = true;
  }
}
