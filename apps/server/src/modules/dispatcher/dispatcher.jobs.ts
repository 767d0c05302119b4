import { deleteInBatches } from '#core/data/db/batches';
import { deleteOldAlerts } from '#core/platform/jobs/alerts.queries';
import { deleteOldDispatches } from '#core/platform/jobs/dispatches.queries';
import type { Job } from '#core/platform/jobs/job';
import { deleteOldRuns } from '#core/platform/jobs/jobs.queries';

const keptMs = 30 * 24 * 60 * 60_000;
const runsKept = 1000;

export const history: Job = {
  name: 'dispatcher-history',
  description:
    'Deletes runs after 30 days or 1,000 runs of their job, and dispatches and resolved alerts after 30 days.',
  schedule: '43 * * * *',
  catchUp: 'run_once',
  timeoutMs: 5 * 60_000,
  run: async ({ services: { database, now }, signal }) => {
    const before = new Date(now().getTime() - keptMs).toISOString();
    const db = database.platform();
    return {
      runs: await deleteInBatches(db, (max) => deleteOldRuns({ before, keep: runsKept, max }), signal),
      dispatches: await deleteInBatches(db, (max) => deleteOldDispatches({ before, max }), signal),
      alerts: await deleteInBatches(db, (max) => deleteOldAlerts({ before, max }), signal),
    };
  },
};
