import { defineModule } from '#core/http/route';
import { ParentNotFound, SpaceNotFound } from '#modules/resources/resources.errors';
import { resourceRoutes } from '#modules/resources/resources.routes';
import { TypeNotFound } from '#modules/type-definitions/index';

export { resourceTexts } from '#modules/resources/resources.queries';

/** Resources of a tenant: things in spaces or on their own, and their parts. */
export const resourcesModule = defineModule({
  name: 'resources',
  description: 'Manage resources: things in spaces or on their own, and their parts',
  constraints: { resources_parent: ParentNotFound, resources_space: SpaceNotFound, resources_type: TypeNotFound },
  routes: resourceRoutes,
});
