import { processPermits } from '#core/base/concurrency/semaphore';
import { deleteInBatches } from '#core/data/db/batches';
import type { Job } from '#core/platform/jobs/job';
import { securitySetting } from '#core/platform/limits/config';
import type { Work } from '#core/platform/queue/work';
import type { Services } from '#core/platform/services';
import { forgetMarks, listMarkedTenants } from '#modules/translation/entities/marks.queries';
import { jobsWork, sendJob, waitMs, workInShares, type Named } from '#modules/translation/jobs/background';
import { deleteOldJobs, listAbandonedJobs } from '#modules/translation/jobs/jobs.queries';
import { forgetExcess, forgetOld, listMemories } from '#modules/translation/memory/memory.queries';
import { memoryLifeMs } from '#modules/translation/memory/terms';
import { entityTypeNames } from '#modules/translation/translation.types';

const attempts = 5;
const keptMs = 90 * 24 * 60 * 60_000;
const maxConcurrent = 1000;

type Dependencies = Pick<Services, 'database' | 'now' | 'runtimeSettings'>;

export const cleanUp: Job = {
  name: 'translation-clean-up',
  description: 'Deletes expired and surplus translations from the memory, and the marks of deleted records.',
  schedule: '*/15 * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: ({ services, signal }) => forgetTranslations(services, signal),
};

/** Finds jobs whose process has died, and deletes those that ended long ago. */
export const sweepJobs: Job = {
  name: 'translation-sweep',
  description: 'Restarts translation jobs whose process has stopped, and deletes jobs 90 days after their end.',
  schedule: '* * * * *',
  catchUp: 'run_once',
  timeoutMs: 60_000,
  async run({ services, signal }) {
    const db = services.database.platform();
    const abandoned = await db.interactive.all(listAbandonedJobs({ max: maxConcurrent }));
    if (abandoned.length > 0) await services.queue.sendMany(jobsWork, abandoned.map(toPiece));
    const before = new Date(services.now().getTime() - keptMs).toISOString();
    await deleteInBatches(db, (max) => deleteOldJobs({ before, max }), signal);
  },
};

/** Translation of many records that no request waits for. */
export const translateInBackground: Work<Named> = {
  name: jobsWork,
  concurrency: 16,
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

/** Deletes expired and surplus translations, and marks of deleted records. */
export async function forgetTranslations(services: Dependencies, signal: AbortSignal): Promise<void> {
  await forgetMemories(services, signal);
  for (const { tenant_id: tenantId } of await services.database.platform().interactive.all(listMarkedTenants({}))) {
    const db = services.database.tenant(tenantId);
    for (const type of entityTypeNames) {
      await deleteInBatches(db, (max) => forgetMarks[type]({ tenantId, max }), signal);
    }
  }
}

async function forgetMemories(services: Dependencies, signal: AbortSignal): Promise<void> {
  const { cache_max_entries: max } = services.runtimeSettings.current(securitySetting);
  const before = new Date(services.now().getTime() - memoryLifeMs(services)).toISOString();
  for (const { tenant_id: tenantId, entries } of await services.database.platform().interactive.all(listMemories({}))) {
    const db = services.database.tenant(tenantId);
    const deleted = await deleteInBatches(db, (count) => forgetOld({ tenantId, before, max: count }), signal);
    await deleteInBatches(db, (count) => forgetExcess({ tenantId, max: count }), signal, entries - deleted - max);
  }
}

function toPiece({ tenant_id: tenantId, id: jobId }: { tenant_id: string; id: string }) {
  return { data: { tenantId, jobId }, key: jobId };
}
