import type { Worker } from 'node:cluster';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import type { Config } from '#app/config';
import { listenError } from '#app/start-errors';
import type { FromWorker, ToWorker } from '#app/worker-messages';
import type { Log } from '#core/log/log';

const defaultLimits = {
  /** Connections that wait for a worker; more are closed. */
  maxWaiting: 2000,
  /** How long one may wait until a worker has it; then it is closed. */
  patienceMs: 30_000,
};

/** A connection that no worker has called its own yet. */
type Held = { id: number; socket: Socket; timer: NodeJS.Timeout; worker: Worker | undefined };

/**
 * Accepts the connections of all workers and gives them out in turn, to each the next one once it has taken the last.
 * Until then a connection is kept here, and goes to another worker when that one ends.
 */
export class HandOver {
  readonly #log: Log;
  readonly #limits: typeof defaultLimits;
  readonly #servers: Server[] = [];
  readonly #workers = new Set<Worker>();
  /** Those that wait for a connection, in the order of their turns. */
  readonly #free = new Set<Worker>();
  #waiting = new Set<Held>();
  readonly #sent = new Map<number, Held>();
  #lastId = 0;
  #isTurningAway = false;

  constructor(log: Log, limits: Partial<typeof defaultLimits> = {}) {
    this.#log = log;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /**
   * @returns the port in use, also where PORT is 0.
   * @throws StartError when the address cannot be had.
   */
  async listen(config: Config): Promise<number> {
    const { address, port } = await this.#listenAt(config.HOST, config.PORT).catch((error: unknown) => {
      throw listenError(error, config);
    });
    if (config.HOST !== 'localhost') return port;
    for (const other of await lookup(config.HOST, { all: true })) {
      // A machine without IPv6 may have the name for it all the same.
      if (other.address !== address) await this.#listenAt(other.address, port).catch(() => undefined);
    }
    return port;
  }

  /** From now on it gets connections. */
  add(worker: Worker): void {
    this.#workers.add(worker);
    this.#free.add(worker);
    worker.on('message', (message: FromWorker) => this.#hear(worker, message));
    // By then all that it has said is read; with a connection on its way 'disconnect' is never told.
    worker.process.once('close', () => this.#lose(worker));
    this.#giveOut();
  }

  /** It gets no more; what was sent to it before arrives before whatever it is told next. */
  remove(worker: Worker): void {
    this.#workers.delete(worker);
    this.#free.delete(worker);
  }

  /** Accepts nothing more, and gives out what waits, so that workers have it before they are told to stop. */
  close(): void {
    for (const server of this.#servers) server.close();
    while (this.#workers.size > 0 && this.#waiting.size > 0) {
      for (const worker of this.#workers) this.#free.add(worker);
      this.#giveOut();
    }
    for (const held of this.#waiting) this.#giveUp(held);
  }

  async #listenAt(host: string, port: number): Promise<AddressInfo> {
    // Nothing is read here, so that the worker finds every byte.
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
    const timer = setTimeout(() => this.#giveUp(held), this.#limits.patienceMs);
    const held: Held = { id: ++this.#lastId, socket, timer, worker: undefined };
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
      // Who cannot be told anything is of no use, and its end gives the connection to another.
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
    } else return;
    this.#giveOut();
  }

  #lose(worker: Worker): void {
    this.remove(worker);
    for (const held of this.#sent.values()) {
      if (held.worker === worker) this.#takeBack(held.id);
    }
    this.#giveOut();
  }

  #takeBack(id: number): void {
    const held = this.#sent.get(id);
    if (held === undefined) return;
    this.#sent.delete(id);
    held.worker = undefined;
    // It has waited longest.
    this.#waiting = new Set([held, ...this.#waiting]);
  }

  /** Only this process's descriptor is closed: the connection lives on in the worker. */
  #letGo(id: number): void {
    const held = this.#sent.get(id);
    if (held === undefined) return;
    this.#sent.delete(id);
    clearTimeout(held.timer);
    held.socket.destroy();
    this.#isTurningAway = false;
  }

  /** A worker that has it all the same, but is slow to say so, may answer it; where it was lost on the way, this ends it. */
  #giveUp(held: Held): void {
    clearTimeout(held.timer);
    this.#waiting.delete(held);
    this.#sent.delete(held.id);
    this.#turnAway(held.socket);
    if (held.worker !== undefined && this.#workers.has(held.worker)) this.#free.add(held.worker);
    this.#giveOut();
  }

  #turnAway(socket: Socket): void {
    socket.destroy();
    // One line for what may be thousands.
    if (!this.#isTurningAway) this.#log.warn('connections are closed unanswered: no worker takes them');
    this.#isTurningAway = true;
  }
}
