import { defineModule } from '#core/http/route';
import { entityFileRoutes } from '#modules/storage/entity-files.routes';
import { avatarRoutes, fileRoutes } from '#modules/storage/files.routes';
import { missingOwners } from '#modules/storage/files.rules';
import { sweep, reconcile } from '#modules/storage/storage.jobs';
import { storageRoutes } from '#modules/storage/storage.routes';

export { removeObjects, retireFilesOf } from '#modules/storage/cleaning.service';

/** Files of tenants, spaces, resources and contacts, avatars of users, and storage quotas. */
export const storageModule = defineModule({
  name: 'storage',
  description: 'Files, avatars of users, and storage quotas',
  constraints: missingOwners,
  jobs: [sweep, reconcile],
  routes: [...fileRoutes, ...entityFileRoutes, ...avatarRoutes, ...storageRoutes],
});
