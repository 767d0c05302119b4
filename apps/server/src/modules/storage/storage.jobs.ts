import type { Job } from '#core/platform/jobs/job';
import { reconcileStorage, sweepFiles } from '#modules/storage/cleaning.service';

export const sweep: Job = {
  name: 'storage-sweep',
  description: 'Removes the remains of interrupted uploads and deletions, and releases their space.',
  schedule: '* * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: async ({ services, signal }) => ({ removed: await sweepFiles(services, signal) }),
};

export const reconcile: Job = {
  name: 'storage-reconcile',
  description: 'Compares the counters of each storage with its files and corrects differences.',
  schedule: '29 * * * *',
  catchUp: 'run_once',
  timeoutMs: 30 * 60_000,
  run: async ({ services, signal }) => ({ repaired: (await reconcileStorage(services, signal)).length }),
};
