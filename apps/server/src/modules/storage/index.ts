import { defineModule } from '#core/http/route';
import type { Job } from '#core/platform/jobs/job';
import { reconcileStorage, sweepFiles } from '#modules/storage/cleaning.service';
import { entityFileRoutes } from '#modules/storage/entity-files.routes';
import { avatarRoutes, fileRoutes } from '#modules/storage/files.routes';
import { missingOwners } from '#modules/storage/files.rules';
import { storageRoutes } from '#modules/storage/storage.routes';

export { removeObjects, retireFilesOf } from '#modules/storage/cleaning.service';

const sweep: Job = {
  name: 'storage-sweep',
  description: 'Removes the remains of interrupted uploads and deletions, and releases their space.',
  schedule: '* * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: async ({ services, signal }) => ({ removed: await sweepFiles(services, signal) }),
};

const reconcile: Job = {
  name: 'storage-reconcile',
  description: 'Compares the counters of each storage with its files and corrects differences.',
  schedule: '29 * * * *',
  catchUp: 'run_once',
  timeoutMs: 30 * 60_000,
  run: async ({ services, signal }) => ({ repaired: (await reconcileStorage(services, signal)).length }),
};

/** Files of tenants, spaces, resources and contacts, avatars of users, and storage quotas. */
export const storageModule = defineModule({
  name: 'storage',
  description: 'Files, avatars of users, and storage quotas',
  constraints: missingOwners,
  jobs: [sweep, reconcile],
  routes: [...fileRoutes, ...entityFileRoutes, ...avatarRoutes, ...storageRoutes],
});
