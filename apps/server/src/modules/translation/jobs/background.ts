import { createFairTurns } from '#core/base/concurrency/fair-semaphore';
import { processPermits } from '#core/base/concurrency/semaphore';
import { newId } from '#core/base/crypto/ids';
import { deleteInBatches } from '#core/data/db/batches';
import type { Job } from '#core/platform/jobs/job';
import type { Work } from '#core/platform/queue/work';
import type { Services } from '#core/platform/services';
import {
  claimJob,
  deleteOldJobs,
  endJob,
  findHeldJob,
  listAbandonedJobs,
} from '#modules/translation/jobs/jobs.queries';
import { workOn, type Left } from '#modules/translation/jobs/worker';

type Dependencies = Pick<
  Services,
  'callLog' | 'database' | 'encryption' | 'log' | 'now' | 'outbound' | 'queue' | 'runtimeSettings'
>;

type Named = { tenantId: string; jobId: string };

const name = 'translation-jobs';
const attempts = 5;
/** Jobs that are worked on in a process side by side, and those of them that translate at once, a few batches at a time. */
const atOnceInProcess = { jobs: 16, translating: 2 };
const batchesAtOnce = 5;
/** After so many times, or so long, another job may be worked on instead. */
const timesInRow = 20;
const maxMs = 10 * 60_000;
const pausesMs = [500, 2000];
const waitMs = 5000;
const unexpected = 'Something unexpected happened. The job can be resumed.';

/** Continues a job in the background, in any process, after `pauseMs` at the earliest. */
export async function sendJob(
  { queue, now }: Pick<Services, 'queue' | 'now'>,
  { tenantId, jobId }: Named,
  pauseMs = 0,
): Promise<void> {
  const later = pauseMs === 0 ? {} : { startAfter: new Date(now().getTime() + pauseMs) };
  await queue.send(name, { tenantId, jobId }, { key: jobId, ...later });
}

/** Translation of many records that no request waits for. */
export const translateInBackground: Work<Named> = {
  name,
  concurrency: atOnceInProcess.jobs,
  attempts,
  backoff: { firstSeconds: 2, maxSeconds: 300 },
  // A batch that was begun in time and is tried in parts may take long.
  timeoutMs: 60 * 60_000,
  async run({ services, data, signal, attempt }) {
    // One job of a tenant at a time in a process: no tenant has all others wait.
    const release = processPermits.tryAcquire([{ key: `translation job of ${data.tenantId}`, max: 1 }]);
    if (release === undefined) return sendJob(services, data, waitMs);
    try {
      await workInShares({ services, data, signal, isLast: attempt === attempts });
    } finally {
      release();
    }
  },
};

const inShares = createFairTurns(atOnceInProcess.translating);

type Turn = { services: Dependencies; data: Named; signal: AbortSignal; isLast: boolean };

/** Tenants take equal shares: one with many records must not have the few of another wait until it is done. */
async function workInShares(turn: Turn): Promise<void> {
  const { services, data } = turn;
  const endsAt = services.now().getTime() + maxMs;
  for (let count = 1; ; count++) {
    const left = await inShares({ tenant: data.tenantId, principal: data.jobId }, () => goOn(turn, endsAt));
    if (left?.job.status !== 'running') return;
    if (left.pauseMs > 0 || count === timesInRow || services.now().getTime() >= endsAt)
      return sendJob(services, data, left.pauseMs);
  }
}

/** Undefined where others work on the job, or nothing is to be done. */
async function goOn({ services, data, signal, isLast }: Turn, endsAt: number): Promise<Left | undefined> {
  signal.throwIfAborted();
  const claim = newId();
  const db = services.database.tenant(data.tenantId);
  const own = { tenantId: data.tenantId, id: data.jobId, claim };
  const job = await db.interactive.first(claimJob(own));
  if (job === undefined) {
    await waitForOthers(services, data);
    return undefined;
  }
  const scope = {
    services,
    db,
    operation: 'translation.entity_type' as const,
    caller: { userId: job.created_by, requestId: null },
    begin: () => Promise.resolve(),
  };
  const left = await workOn({
    scope,
    signal,
    job,
    claim,
    batches: batchesAtOnce,
    maxMs: Math.max(0, endsAt - services.now().getTime()),
    pausesMs,
  }).catch((error: unknown) => giveUp(error, { services, own, isLast }));
  // Given back, it is gone on with at once.
  signal.throwIfAborted();
  return left;
}

/** Another process holds the lease, which ends soon if that process has died. */
async function waitForOthers(services: Dependencies, { tenantId, jobId }: Named): Promise<void> {
  const held = await services.database.tenant(tenantId).first(findHeldJob({ tenantId, id: jobId }));
  if (held !== undefined) await sendJob(services, { tenantId, jobId }, waitMs);
}

type GivingUp = { services: Dependencies; own: { tenantId: string; id: string; claim: string }; isLast: boolean };

async function giveUp(error: unknown, { services, own, isLast }: GivingUp): Promise<Left> {
  if (isLast) {
    const db = services.database.tenant(own.tenantId);
    // Claimed again: a failure returns the claim.
    await db.interactive.first(claimJob(own));
    await db.interactive.first(
      endJob({ ...own, status: 'failed', error: unexpected, at: services.now().toISOString() }),
    );
  }
  throw error;
}

const keptMs = 90 * 24 * 60 * 60_000;
const maxConcurrent = 1000;

/** Finds jobs whose process has died, and deletes those that ended long ago. */
export const sweepJobs: Job = {
  name: 'translation-sweep',
  description:
    'Has translations of many records go on whose process is gone, and forgets those that ended 90 days ago.',
  schedule: '* * * * *',
  catchUp: 'run_once',
  timeoutMs: 60_000,
  async run({ services, signal }) {
    const db = services.database.platform();
    const abandoned = await db.interactive.all(listAbandonedJobs({ max: maxConcurrent }));
    if (abandoned.length > 0) await services.queue.sendMany(name, abandoned.map(toPiece));
    const before = new Date(services.now().getTime() - keptMs).toISOString();
    await deleteInBatches(db, (max) => deleteOldJobs({ before, max }), signal);
  },
};

function toPiece({ tenant_id: tenantId, id: jobId }: { tenant_id: string; id: string }) {
  return { data: { tenantId, jobId }, key: jobId };
}
