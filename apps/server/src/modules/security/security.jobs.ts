import { deleteInBatches } from '#core/data/db/batches';
import type { Job } from '#core/platform/jobs/job';
import { deleteEndedRules } from '#core/platform/limits/address-rules.queries';

const keptMs = 30 * 24 * 60 * 60_000;

export const endedRules: Job = {
  name: 'ended-address-rules',
  description: 'Deletes automatic address rules 30 days after their expiry.',
  schedule: '31 * * * *',
  catchUp: 'run_once',
  timeoutMs: 5 * 60_000,
  run: async ({ services: { database, now }, signal }) => {
    const before = new Date(now().getTime() - keptMs).toISOString();
    return {
      deleted: await deleteInBatches(database.platform(), (max) => deleteEndedRules({ before, max }), signal),
    };
  },
};
