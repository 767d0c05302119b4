import { defineModule } from '#core/http/route';
import { entityFileRoutes } from '#modules/storage/entity-files.routes';
import { avatarRoutes, fileRoutes } from '#modules/storage/files.routes';
import { missingOwners } from '#modules/storage/files.rules';
import { storageRoutes } from '#modules/storage/storage.routes';

export { reconcileStorage, removeObjects, retireFilesOf, sweepFiles } from '#modules/storage/cleaning.service';

/** Files of tenants, of their spaces, resources and contacts, pictures of people, and how much room they may take. */
export const storageModule = defineModule({
  name: 'storage',
  description: 'Files, pictures of people, and how much room they may take',
  constraints: missingOwners,
  routes: [...fileRoutes, ...entityFileRoutes, ...avatarRoutes, ...storageRoutes],
});
