import { shareResult } from '#core/base/concurrency/coalesce';
import { newId } from '#core/base/crypto/ids';
import type { Log } from '#core/data/log/log';
import type { Metric, Sample } from '#core/platform/metrics/metric';
import { startConsumer, type Consumer } from '#core/platform/queue/consumer';
import { openStorage, type Storage, type StorageOptions } from '#core/platform/queue/storage';
import type { BoundWork } from '#core/platform/queue/terms';

export type SendOptions = {
  /** At most one task of each key waits; another one sent meanwhile counts as the same task. */
  key?: string;
  startAfter?: Date;
  /** Higher ones first. Default: 0. */
  priority?: number;
};

/** Ids and small facts, never secrets. */
type Piece = SendOptions & { data: object };

/** Tasks that run later in any process with free capacity: they outlive this process. */
export type Queue = {
  /** @returns false if a task with its key waited already */
  send(name: string, data: object, options?: SendOptions): Promise<boolean>;
  /** The same for many tasks, 1000 per statement. @returns how many were added */
  sendMany(name: string, pieces: readonly Piece[]): Promise<number>;
  /** Begins to perform tasks; only in processes that serve requests. */
  start(): void;
  /** Claims no more tasks, and releases those that do not complete within this many milliseconds. */
  stop(graceMs: number): Promise<void>;
  metrics(): Metric[];
  close(): Promise<void>;
};

type Options = Pick<StorageOptions, 'connection'> & {
  work: readonly BoundWork[];
  log: Log;
  pollMs?: number;
  tendMs?: number;
};

const atOnce = 1000;
const reopenMs = 1000;

/** Nothing is opened before the first use. */
export function createQueue({ work, log, connection, pollMs = 5000, tendMs = 15_000 }: Options): Queue {
  const trouble = createTrouble(log);
  let consumer: Consumer | undefined;
  let starting: Promise<void> | undefined;
  let isStopped = false;
  let closed: Promise<void> | undefined;

  const open = shareResult(() =>
    openStorage({
      connection,
      work,
      // A process that performs no tasks needs no connection for notifications.
      onWaiting: starting === undefined ? undefined : (name) => consumer?.wake(name),
      onError: trouble.met,
      tendSeconds: Math.max(1, Math.floor(tendMs / 1000)),
    }),
  );
  const opened = () => open.begun()?.catch(() => undefined);

  async function begin(): Promise<void> {
    while (!isStopped) {
      try {
        const storage = watched(await open(), trouble.over);
        if (!isStopped) consumer = startConsumer({ work, storage, log, pollMs, tendMs, onError: trouble.met });
        return;
      } catch (error) {
        trouble.met(error);
        await new Promise((resolve) => setTimeout(resolve, reopenMs));
      }
    }
  }

  async function stop(graceMs: number): Promise<void> {
    isStopped = true;
    await starting;
    await consumer?.stop(graceMs);
  }

  async function close(): Promise<void> {
    await stop(0);
    await (await opened())?.close();
  }

  return {
    send: async (name, data, options = {}) => (await insert(await open(), name, [{ ...options, data }])) === 1,
    sendMany: async (name, pieces) => insert(await open(), name, pieces),
    start: () => void (starting ??= Promise.resolve().then(begin)),
    stop,
    metrics: () => [depthMetric(async () => (await opened())?.counts() ?? [])],
    close: () => (closed ??= close()),
  };
}

async function insert(storage: Storage, name: string, pieces: readonly Piece[]): Promise<number> {
  let sent = 0;
  for (let at = 0; at < pieces.length; at += atOnce) {
    sent += await storage.insert(name, pieces.slice(at, at + atOnce).map(toInsert));
  }
  return sent;
}

function toInsert({ data, key, startAfter, priority = 0 }: Piece) {
  const id = newId();
  // Without a key each task gets a unique one.
  return { id, data, priority, singletonKey: key ?? id, ...(startAfter === undefined ? {} : { startAfter }) };
}

/** One log line when the database is lost, and one when it is back. */
function createTrouble(log: Log) {
  let isMet = false;
  return {
    met(error: unknown) {
      if (!isMet) log.warn({ err: error }, 'the queue cannot be read; retrying');
      isMet = true;
    },
    over() {
      if (isMet) log.info('the queue can be read again');
      isMet = false;
    },
  };
}

function watched(storage: Storage, onSuccess: () => void): Storage {
  return {
    ...storage,
    async take(name, max) {
      const claims = await storage.take(name, max);
      onSuccess();
      return claims;
    },
  };
}

type Counts = Awaited<ReturnType<Storage['counts']>>;

function depthMetric(counts: () => Promise<Counts>): Metric {
  return {
    name: 'atrium_queue_work',
    help: 'Work in the background by name and state, as of the last count; dead letters wait under a name of their own.',
    type: 'gauge',
    read: async () => (await counts().catch(() => [])).flatMap(samplesOf),
  };
}

function samplesOf({ name, readyCount, deferredCount, activeCount }: Counts[number]): Sample[] {
  const states = { waiting: readyCount, deferred: deferredCount, running: activeCount };
  return Object.entries(states).map(([state, value]) => ({ labels: { work: name, state }, value }));
}
