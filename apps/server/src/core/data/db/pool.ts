import type pg from 'pg';

import { Counts } from '#core/base/concurrency/counts';
import { createFairQueue } from '#core/base/concurrency/fair-queue';
import { ConnectionLostError, openConnection, type Connection } from '#core/data/db/connection';
import type { DatabaseTiming } from '#core/data/db/timing';

/** Options of the pool of one role. */
export type PoolOptions = {
  connection: pg.ClientConfig;
  /** Connections at most. Shared pools stay small: more than two made the same work slower. */
  size: number;
  /** Flights that may be under way on one connection at once; 1 keeps slow statements from blocking others. */
  depth: number;
  /** Flights of one tenant that may be under way at once, so that those of others soon find a connection. */
  share: number;
  /** Flights of one tenant that may wait for a connection before new ones are refused. */
  maxWaiting: number;
  timing: Pick<DatabaseTiming, 'connectMs' | 'waitMs' | 'idleTestMs' | 'probeMs' | 'suspectMs' | 'stalledMs'>;
  /** Connections that are idle for longer are closed; undefined keeps them open. */
  closeIdleMs?: number | undefined;
  /** Runs once on each new connection before its first flight. */
  onConnect?: ((client: pg.Client) => Promise<void>) | undefined;
  /** Why nothing can be sent at present: work is refused at once. */
  refusal(): Error | undefined;
  /** An idle connection was dead; others may be as well. */
  onDead(): void;
  /** A connection could not be opened. */
  onFailedOpening(error: Error): void;
};

/** Work for one connection: it calls `done` when the connection is free for another. */
export type Job = { run(client: pg.Client, done: () => void): void; reject(error: Error): void };

/** Connections at most and open, flights under way, and flights that wait for a connection. */
export type ConnectionLoad = { size: number; open: number; flights: number; waiting: number };

type Slot = { connection: Connection | undefined; isOpening: boolean };
type Waiter = Job & { tenant: string; since: number };

/** Waiting flights of all tenants, as a multiple of what one of them may have. */
const maxWaitingTenants = 5;

/** A few pipelined connections of one role, shared fairly by the tenants of the process. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #slots: Slot[];
  readonly #waiting = createFairQueue<Waiter>();
  /** The same in the order of their arrival. */
  readonly #arrivals = new Set<Waiter>();
  /** Flights under way by tenant. */
  readonly #held = new Counts();
  // Work without a tenant serves many tenants: logins, refreshes, housekeeping.
  readonly #mayServe = (tenant: string) => tenant === '' || this.#held.of(tenant) < this.#options.share;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.size }, () => ({ connection: undefined, isOpening: false }));
  }

  /** Hands the job a connection, now or as soon as one is free and the tenant holds less than its share. */
  submit(tenant: string, job: Job): void {
    if (this.#closed) return job.reject(closedError());
    const refusal = this.#options.refusal();
    if (refusal !== undefined) return job.reject(refusal);
    if (this.#waiting.size() === 0 && this.#mayServe(tenant)) {
      const connection = this.#readyConnection();
      if (connection !== undefined) return this.#launch(connection, tenant, job);
    }
    const { maxWaiting } = this.#options;
    if (this.#waiting.sizeOf(tenant) >= maxWaiting || this.#waiting.size() >= maxWaiting * maxWaitingTenants)
      return job.reject(new ConnectionLostError('too many statements wait'));
    const waiter = { ...job, tenant, since: performance.now() };
    this.#waiting.push({ tenant, principal: '' }, waiter);
    this.#arrivals.add(waiter);
    this.#serve();
  }

  /** The current load of the pool. */
  load(): ConnectionLoad {
    const open = this.#connections();
    return {
      size: this.#options.size,
      open: open.length,
      flights: open.reduce((sum, { flights }) => sum + flights, 0),
      waiting: this.#waiting.size(),
    };
  }

  /**
   * Drops connections and refuses waiting work whose timeout is over.
   *
   * @param isDistrusting dead connections were found recently: one that carries many flights is dropped as soon as it is suspect
   * @param readOnlyAt when the server last took no write: older connections are replaced after their last flight
   */
  tick(now: number, { isDistrusting, readOnlyAt }: { isDistrusting: boolean; readOnlyAt: number }): void {
    const { timing, closeIdleMs, depth } = this.#options;
    const stalledMs = isDistrusting && depth > 1 ? timing.suspectMs : timing.stalledMs;
    for (const connection of this.#connections()) {
      connection.isSuspect = connection.silentMs(now) > timing.suspectMs;
      if (connection.isStalled(now, stalledMs)) {
        this.#drop(connection);
        this.#options.onDead();
      }
      // New connections are kept, because otherwise each refused write would cost a connection.
      if (connection.openedAt < readOnlyAt && now - connection.openedAt > renewMs) this.#retire(connection);
      if (closeIdleMs !== undefined && connection.isIdle(now, closeIdleMs)) this.#retire(connection);
    }
    for (const waiter of this.#arrivals) {
      if (now - waiter.since <= timing.waitMs) break;
      this.#refuse(waiter, new ConnectionLostError('waited too long for a connection'));
    }
  }

  /** When any of its connections last received bytes. */
  heardAt(): number {
    return this.#connections().reduce((latest, { heardAt }) => Math.max(latest, heardAt), -Infinity);
  }

  /** The longest silence of a connection with a flight under way. */
  silentMs(now: number): number {
    return this.#connections().reduce((longest, connection) => Math.max(longest, connection.silentMs(now)), 0);
  }

  /**
   * Tests whether the server answers. A statement may only be slow, so the test uses an idle connection, or a new one if all others
   * are silent. @returns whether it answered
   */
  async ask(): Promise<boolean> {
    const slot =
      this.#slots.find(({ connection }) => connection?.isTrusted() === true) ??
      this.#slots.find(({ connection }) => connection === undefined) ??
      this.#slots[0]!;
    if (slot.connection !== undefined) return slot.connection.probe(this.#options.timing.probeMs);
    return slot.isOpening ? false : this.#open(slot);
  }

  /** Drops the idle connections without a test. */
  dropIdle(): void {
    const now = performance.now();
    for (const connection of this.#connections())
      if (connection.isIdle(now, this.#options.timing.idleTestMs)) this.#drop(connection);
    this.#serve();
  }

  /** Drops all connections, and refuses waiting work. */
  dropAll(): void {
    for (const connection of this.#connections()) this.#drop(connection);
    this.#refuseAll(new ConnectionLostError('the database does not answer'));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#refuseAll(closedError());
    await Promise.all(this.#connections().map((connection) => connection.close()));
  }

  #connections(): Connection[] {
    return this.#slots.flatMap(({ connection }) => connection ?? []);
  }

  /** The trusted connection with the fewest flights that has room. */
  #readyConnection(): Connection | undefined {
    const { depth, size, timing } = this.#options;
    let best: Connection | undefined;
    let open = 0;
    for (const { connection } of this.#slots) {
      if (connection === undefined) continue;
      open += 1;
      if (connection.flights >= depth || !connection.isTrusted()) continue;
      // Reading the clock costs more than the other checks, so it is read only for connections without flights.
      if (connection.flights === 0 && connection.isIdle(performance.now(), timing.idleTestMs)) continue;
      if (best === undefined || connection.flights < best.flights) best = connection;
    }
    if (best !== undefined && best.flights > 0 && open < size) this.#prepare(1);
    return best;
  }

  #launch(connection: Connection, tenant: string, job: Job): void {
    if (connection.flights === 0) connection.busySince = performance.now();
    connection.flights += 1;
    this.#held.add(tenant, 1);
    job.run(connection.client, () => {
      connection.flights -= 1;
      this.#held.add(tenant, -1);
      if (connection.isRetiring && connection.flights === 0) this.#retire(connection);
      if (this.#waiting.size() > 0) this.#serve();
    });
  }

  #serve(): void {
    while (this.#waiting.size() > 0) {
      const connection = this.#readyConnection();
      if (connection === undefined) return this.#prepare(this.#waiting.size());
      const waiter = this.#waiting.next(this.#mayServe);
      if (waiter === undefined) return;
      this.#arrivals.delete(waiter);
      this.#launch(connection, waiter.tenant, waiter);
    }
  }

  /** Opens connections and tests idle ones, until `wanted` of them are under way. */
  #prepare(wanted: number): void {
    const now = performance.now();
    const isComing = ({ isOpening, connection }: Slot) => isOpening || connection?.isProbing === true;
    let coming = this.#slots.filter(isComing).length;
    for (const slot of this.#slots) {
      if (coming >= wanted) return;
      if (!isComing(slot) && this.#prepareSlot(slot, now)) coming += 1;
    }
  }

  /** @returns whether there was anything to do */
  #prepareSlot(slot: Slot, now: number): boolean {
    const { connection } = slot;
    if (connection === undefined) {
      void this.#open(slot);
      return true;
    }
    if (connection.isRetiring || !connection.isIdle(now, this.#options.timing.idleTestMs)) return false;
    void this.#test(connection);
    return true;
  }

  async #test(connection: Connection): Promise<void> {
    const isAlive = await connection.probe(this.#options.timing.probeMs);
    if (!isAlive) {
      this.#drop(connection);
      this.#options.onDead();
    }
    this.#serve();
  }

  /** @returns whether there is a new connection */
  async #open(slot: Slot): Promise<boolean> {
    slot.isOpening = true;
    try {
      const connection = await openConnection({
        config: this.#options.connection,
        connectMs: this.#options.timing.connectMs,
        onConnect: this.#options.onConnect,
        onLost: (lost) => {
          if (slot.connection === lost) slot.connection = undefined;
          this.#serve();
        },
      });
      if (this.#closed) await connection.close();
      else slot.connection = connection;
    } catch (error) {
      slot.isOpening = false;
      // Waiting work could only time out: it is refused now, and the next request tries again.
      if (this.#connections().length === 0) this.#refuseAll(error as Error);
      this.#options.onFailedOpening(error as Error);
      return false;
    }
    slot.isOpening = false;
    this.#serve();
    return true;
  }

  #drop(connection: Connection): void {
    this.#forget(connection);
    connection.destroy();
  }

  #retire(connection: Connection): void {
    connection.isRetiring = true;
    if (connection.flights > 0) return;
    this.#forget(connection);
    void connection.close().catch(() => undefined);
  }

  #forget(connection: Connection): void {
    for (const slot of this.#slots) if (slot.connection === connection) slot.connection = undefined;
  }

  #refuse(waiter: Waiter, error: Error): void {
    this.#arrivals.delete(waiter);
    this.#waiting.remove(waiter);
    waiter.reject(error);
  }

  #refuseAll(error: Error): void {
    for (const waiter of this.#arrivals) this.#refuse(waiter, error);
  }
}

/** Younger connections are not replaced again. */
const renewMs = 1000;

function closedError(): ConnectionLostError {
  return new ConnectionLostError('the database is closed');
}
