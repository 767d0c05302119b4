import { newId } from '#core/crypto/ids';
import { deleteInBatches } from '#core/db/batches';
import type { Job } from '#core/jobs/job';
import type { Work } from '#core/queue/work';
import type { Services } from '#core/services';
import { claimJob, deleteOldJobs, endJob, findJob, listAbandonedJobs } from '#modules/translation/jobs/jobs.queries';
import { workOn, type Left } from '#modules/translation/jobs/worker';

type Named = { tenantId: string; jobId: string };

const name = 'translation-jobs';
const attempts = 5;
/** After so many another job gets its turn. */
const batchesInRow = 100;
const pausesMs = [500, 2000];
const waitMs = 5000;
const unexpected = 'Something unexpected happened. The job can be resumed.';

/** Has a job go on in the background, of whatever process has time. */
export async function sendJob({ queue }: Pick<Services, 'queue'>, { tenantId, jobId }: Named, startAfter?: Date) {
  await queue.send(name, { tenantId, jobId }, { key: jobId, ...(startAfter === undefined ? {} : { startAfter }) });
}

/** Translation of many records, as far as no request waits for it. */
export const translateInBackground: Work<Named> = {
  name,
  concurrency: 2,
  attempts,
  backoff: { firstSeconds: 2, mostSeconds: 300 },
  timeoutMs: 30 * 60_000,
  async run({ services, data, signal, attempt }) {
    const claim = newId();
    const db = services.database.tenant(data.tenantId);
    const own = { tenantId: data.tenantId, id: data.jobId, claim };
    const job = await db.slow.first(claimJob(own));
    if (job === undefined) return waitForOthers(services, data);
    const scope = {
      services,
      db,
      operation: 'translation.entity_type' as const,
      caller: { userId: job.created_by, requestId: null },
    };
    const left = await workOn({ scope, signal, job, claim, batches: batchesInRow, pausesMs }).catch((error: unknown) =>
      giveUp(error, { services, own, isLast: attempt === attempts }),
    );
    // Given back, it is gone on with at once.
    signal.throwIfAborted();
    if (left.job.status === 'running') await sendJob(services, data);
  },
};

/** Somebody works on it, as it seems: should that one be dead, its lease ends soon. */
async function waitForOthers(services: Services, { tenantId, jobId }: Named): Promise<void> {
  const job = await services.database.tenant(tenantId).first(findJob({ tenantId, id: jobId }));
  if (job?.status !== 'running') return;
  await sendJob(services, { tenantId, jobId }, new Date(services.now().getTime() + waitMs));
}

type GivingUp = { services: Services; own: { tenantId: string; id: string; claim: string }; isLast: boolean };

async function giveUp(error: unknown, { services, own, isLast }: GivingUp): Promise<Left> {
  if (isLast) {
    const db = services.database.tenant(own.tenantId);
    // Claimed anew: whoever fails gives its claim back.
    await db.slow.first(claimJob(own));
    await db.slow.first(endJob({ ...own, status: 'failed', error: unexpected, at: services.now().toISOString() }));
  }
  throw error;
}

const keptMs = 90 * 24 * 60 * 60_000;
const mostAtOnce = 1000;

/** Finds jobs that nobody works on, because their process is gone, and forgets those that ended long ago. */
export const sweepJobs: Job = {
  name: 'translation-sweep',
  description:
    'Has translations of many records go on whose process is gone, and forgets those that ended 90 days ago.',
  schedule: '* * * * *',
  catchUp: 'run_once',
  timeoutMs: 60_000,
  async run({ services, signal }) {
    const db = services.database.platform();
    const abandoned = await db.slow.all(listAbandonedJobs({ most: mostAtOnce }));
    if (abandoned.length > 0) await services.queue.sendMany(name, abandoned.map(toPiece));
    const before = new Date(services.now().getTime() - keptMs).toISOString();
    await deleteInBatches(db, (most) => deleteOldJobs({ before, most }), signal);
  },
};

function toPiece({ tenant_id: tenantId, id: jobId }: { tenant_id: string; id: string }) {
  return { data: { tenantId, jobId }, key: jobId };
}
