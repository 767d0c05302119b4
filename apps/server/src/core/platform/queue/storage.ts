import { PgBoss, type Db, type Job, type JobInsert, type QueueResult } from 'pg-boss';

import { listen } from '#core/data/db/listener';
import { openOwnerPool, type OwnerConnection, type OwnerPool } from '#core/data/db/owner-pool';
import type { WorkTerms } from '#core/platform/queue/terms';

/** A task that this process has claimed. */
export type Claim = Job;

/** The stored tasks; the library keeps them in a separate schema. */
export type Storage = {
  insert(name: string, pieces: JobInsert[]): Promise<number>;
  /** Claims at most `max` due tasks. */
  take(name: string, max: number): Promise<Claim[]>;
  /** Sends the heartbeat of the tasks. @returns the ids of the tasks that this process still owns */
  keep(name: string, claims: Claim[]): Promise<ReadonlySet<string>>;
  succeed(name: string, claim: Claim): Promise<void>;
  fail(name: string, claim: Claim, error: unknown): Promise<void>;
  /** Releases the task, as if it had not been claimed. */
  giveBack(name: string, claim: Claim): Promise<void>;
  /** Releases tasks of dead processes and deletes old tasks, in one process at a time. */
  tend(): Promise<void>;
  counts(): Promise<QueueResult[]>;
  close(): Promise<void>;
};

export type StorageOptions = {
  /** The database itself, as its owner: locks and notifications are lost behind a transaction pooler. */
  connection: OwnerConnection;
  work: readonly WorkTerms[];
  /** Called when a task waits under this name; under any, if the name is undefined. */
  onWaiting: ((name: string | undefined) => void) | undefined;
  onError(error: unknown): void;
  tendSeconds: number;
};

const schema = 'queue';
/** Queue of tasks whose attempts all failed. */
const deadLetters = 'dead-letters';
const hour = 3600;
const day = 24 * hour;

/** A process without a heartbeat for this long counts as dead, and its tasks are retried. */
export const heartbeatSeconds = 15;

/** Creates missing parts of the schema and the queues; several processes may do so at the same time. */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const pool = openOwnerPool({ connection: options.connection, name: 'atrium_queue', size: 2 });
  let boss: PgBoss | undefined;
  const close = async () => {
    await boss?.stop({ graceful: false }).catch(options.onError);
    await pool.close();
  };
  try {
    const { rows } = await pool.run('select to_regnamespace($1) is not null as known', [schema]);
    // A login that may make no schemas can be given one.
    boss = configure(pool, options, { createSchema: !(rows[0] as { known: boolean }).known });
    await boss.start();
    await defineQueues(boss, options.work);
  } catch (error) {
    await close();
    throw error;
  }
  return present(boss, pool, close);
}

function configure(pool: OwnerPool, options: StorageOptions, { createSchema }: { createSchema: boolean }): PgBoss {
  const boss = new PgBoss({
    db: adapt(pool, options),
    schema,
    createSchema,
    useListenNotify: options.onWaiting !== undefined,
    schedule: false,
    // `tend` does it, and only where work is done.
    supervise: false,
    monitorIntervalSeconds: options.tendSeconds,
    maintenanceIntervalSeconds: hour,
    queueCacheIntervalSeconds: hour,
    bamIntervalSeconds: 600,
    reindex: false,
    monitorVacuum: false,
  });
  boss.on('error', options.onError);
  return boss;
}

function present(boss: PgBoss, pool: OwnerPool, close: () => Promise<void>): Storage {
  return {
    insert: async (name, pieces) => (await boss.insert(name, pieces, { returnId: true }))?.length ?? 0,
    take: (name, max) => boss.fetch(name, { batchSize: max }),
    async keep(name, claims) {
      const { settled } = (await boss.touch(name, claims)) as { settled: string[] };
      return new Set(settled);
    },
    succeed: (name, claim) => boss.complete(name, claim).then(() => undefined),
    fail: (name, claim, error) => boss.fail(name, claim, describe(error)).then(() => undefined),
    giveBack: (name, claim) => giveBack(boss, pool, { name, claim }),
    tend: () => boss.supervise(),
    counts: () => boss.getQueues(),
    close,
  };
}

function adapt(pool: OwnerPool, { connection, onWaiting }: StorageOptions): Db {
  return {
    executeSql: (text, values) => pool.run(text, values),
    listen(channel) {
      const hear = (name: string | undefined) => onWaiting?.(name);
      const listener = listen({ connection, channels: { [channel]: hear }, onGap: () => hear(undefined) });
      return Promise.resolve(listener);
    },
  };
}

async function defineQueues(boss: PgBoss, work: readonly WorkTerms[]): Promise<void> {
  const known = new Map((await boss.getQueues()).map((queue) => [queue.name, queue]));
  if (!known.has(deadLetters)) await boss.createQueue(deadLetters, { retentionSeconds: 30 * day });
  for (const terms of work) {
    const wanted = queueOf(terms);
    const queue = known.get(terms.name) as Record<string, unknown> | undefined;
    // One with the same key waits at most; whether one is being done meanwhile does not matter.
    if (queue === undefined) await boss.createQueue(terms.name, { policy: 'short', ...wanted });
    else if (Object.entries(wanted).some(([name, value]) => queue[name] !== value)) {
      await boss.updateQueue(terms.name, wanted);
    }
  }
}

function queueOf({ attempts, backoff, timeoutMs }: WorkTerms) {
  const hasPause = backoff.firstSeconds > 0;
  return {
    retryLimit: attempts - 1,
    retryDelay: backoff.firstSeconds,
    retryBackoff: hasPause,
    ...(hasPause ? { retryDelayMax: backoff.maxSeconds } : {}),
    // The process that works on it ends it in time; this is for one that lives and does nothing.
    expireInSeconds: Math.ceil(timeoutMs / 1000) + 60,
    heartbeatSeconds,
    retentionSeconds: 30 * day,
    deleteAfterSeconds: hour,
    deadLetter: deadLetters,
    notify: true,
  };
}

const uniqueViolation = '23505';

// The library can only fail it, which costs an attempt and a pause.
async function giveBack(boss: PgBoss, pool: OwnerPool, { name, claim }: { name: string; claim: Claim }): Promise<void> {
  try {
    const { rowCount } = await pool.run(returnClaim, [name, claim.id, claim.retryCount]);
    if (rowCount === 0) return;
  } catch (error) {
    if ((error as { code?: string }).code !== uniqueViolation) throw error;
    // One with the same key waits already, and does the same.
    await boss.complete(name, claim);
    return;
  }
  await pool.run(tellOthers, [name]);
}

const returnClaim = `update queue.job set state = 'created', started_on = null, heartbeat_on = null
  where name = $1 and id = $2 and state = 'active' and retry_count = $3`;
// The channel of the library's own notifications.
const tellOthers = `select pg_notify('pgboss_' || left(encode(sha224('queue'::bytea), 'hex'), 24), $1)`;

/** Words for the operator who looks at dead letters; no inner objects, which may hold anything. */
function describe(error: unknown): { name: string; message: string } {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  return { name: error.name, message: error.message };
}
