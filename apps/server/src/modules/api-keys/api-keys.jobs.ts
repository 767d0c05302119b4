import { deleteInBatches } from '#core/data/db/batches';
import { deleteOldUsage } from '#core/data/usage/usage.queries';
import type { Job } from '#core/platform/jobs/job';

const usageKeptMs = 400 * 24 * 60 * 60_000;

export const oldUsage: Job = {
  name: 'old-credential-usage',
  description: 'Deletes usage counts of API keys and app accounts that are older than 400 days.',
  schedule: '37 * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: async ({ services: { database, now }, signal }) => {
    const before = new Date(now().getTime() - usageKeptMs).toISOString();
    return { deleted: await deleteInBatches(database.platform(), (max) => deleteOldUsage({ before, max }), signal) };
  },
};
