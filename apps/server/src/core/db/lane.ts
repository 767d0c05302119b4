import pg from 'pg';

/** How connections of one role are opened. */
export type LaneOptions = {
  connection: pg.ClientConfig;
  /** Connections at most. Shared lanes stay small: more than two made the same work slower. */
  size: number;
  /** Flights that may be under way on one connection at once; 1 keeps slow statements from blocking others. */
  depth: number;
  /** Flights that may wait for a connection before new ones are refused. */
  maxWaiting: number;
  /** How long a flight waits for a connection at most. */
  maxWaitMs: number;
  /** A connection whose oldest flight is older than this is given up: PostgreSQL is frozen or gone. */
  stallMs: number;
  /** Runs once on each new connection before its first flight. */
  onConnect?: ((client: pg.Client) => Promise<void>) | undefined;
};

/** PostgreSQL could not be reached, or has more work queued than it can answer in time: nothing was sent. */
export class ConnectionLostError extends Error {
  override name = 'ConnectionLostError';
}

/** Work for one connection: it calls `done` when the connection is free for another. */
export type Job = { run(client: pg.Client, done: () => void): void; reject(error: Error): void };

/** Connections at most and open, flights under way, and flights that wait for a connection. */
export type LaneLoad = { size: number; open: number; flights: number; waiting: number };

type Slot = { client: pg.Client | undefined; opening: Promise<void> | undefined; flights: number; oldest: number };

/** A few pipelined connections of one role, shared by all requests of the process. */
export class Lane {
  readonly #options: LaneOptions;
  readonly #slots: Slot[] = [];
  readonly #waiting: (Job & { since: number })[] = [];
  readonly #watchdog: NodeJS.Timeout;
  #closed = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    for (let at = 0; at < options.size; at++) {
      this.#slots.push({ client: undefined, opening: undefined, flights: 0, oldest: 0 });
    }
    this.#watchdog = setInterval(() => {
      this.#dropStalled();
      this.#refuseLate();
    }, 500).unref();
  }

  /** Hands the job a connection, now or as soon as one is free. */
  submit(job: Job): void {
    const slot = this.#freeSlot();
    if (slot?.client !== undefined) this.#launch(slot, slot.client, job);
    else if (this.#closed) job.reject(new ConnectionLostError('the database is closed'));
    else if (this.#waiting.length >= this.#options.maxWaiting)
      job.reject(new ConnectionLostError('too many statements wait'));
    else {
      this.#waiting.push({ ...job, since: Date.now() });
      if (slot !== undefined) void this.#open(slot);
    }
  }

  /** How much of it is in use at this moment. */
  load(): LaneLoad {
    return {
      size: this.#options.size,
      open: this.#slots.filter(({ client }) => client !== undefined).length,
      flights: this.#slots.reduce((sum, { flights }) => sum + flights, 0),
      waiting: this.#waiting.length,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#watchdog);
    for (const job of this.#waiting.splice(0)) job.reject(new ConnectionLostError('the database is closed'));
    await Promise.all(this.#slots.map(async (slot) => slot.client?.end()));
  }

  #freeSlot(): Slot | undefined {
    let best: Slot | undefined;
    for (const slot of this.#slots) {
      if (slot.flights >= this.#options.depth) continue;
      // An open connection with room beats opening another; among open ones the idlest wins.
      if (best === undefined || rank(slot) < rank(best)) best = slot;
    }
    return best;
  }

  #launch(slot: Slot, client: pg.Client, job: Job): void {
    if (slot.flights === 0) slot.oldest = Date.now();
    slot.flights += 1;
    job.run(client, () => {
      slot.flights -= 1;
      slot.oldest = Date.now();
      if (slot.client === undefined || this.#waiting.length === 0) return;
      this.#launch(slot, slot.client, this.#waiting.shift()!);
    });
  }

  async #open(slot: Slot): Promise<void> {
    slot.opening ??= this.#connect(slot).finally(() => (slot.opening = undefined));
    await slot.opening;
  }

  async #connect(slot: Slot): Promise<void> {
    const client = new pg.Client({ ...this.#options.connection, pipeline: true });
    const forget = () => {
      if (slot.client === client) slot.client = undefined;
    };
    client.on('error', forget);
    client.on('end', forget);
    try {
      await client.connect();
      await this.#options.onConnect?.(client);
    } catch (cause) {
      void client.end().catch(() => undefined);
      // Whoever waits would wait for nothing: tell them now, and let the next request try again.
      if (this.#slots.some((other) => other.client !== undefined)) return;
      for (const job of this.#waiting.splice(0)) job.reject(new ConnectionLostError('cannot connect', { cause }));
      return;
    }
    if (this.#closed) {
      await client.end();
      return;
    }
    slot.client = client;
    while (slot.flights < this.#options.depth && this.#waiting.length > 0)
      this.#launch(slot, client, this.#waiting.shift()!);
  }

  #refuseLate(): void {
    const deadline = Date.now() - this.#options.maxWaitMs;
    while (this.#waiting[0] !== undefined && this.#waiting[0].since < deadline) {
      this.#waiting.shift()!.reject(new ConnectionLostError('waited too long for a connection'));
    }
  }

  #dropStalled(): void {
    const deadline = Date.now() - this.#options.stallMs;
    for (const slot of this.#slots) {
      if (slot.flights > 0 && slot.oldest < deadline && slot.client !== undefined) {
        const { client } = slot;
        slot.client = undefined;
        destroy(client);
      }
    }
  }
}

function rank(slot: Slot): number {
  return slot.client === undefined ? 0.5 : slot.flights;
}

// `end()` waits for the answers that a frozen server will never give.
function destroy(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
