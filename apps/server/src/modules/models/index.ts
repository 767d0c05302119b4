import { defineModule } from '#core/http/route';
import { renewal } from '#modules/models/models.jobs';
import { modelRoutes } from '#modules/models/models.routes';

/** Catalog and prices of the models that providers offer. */
export const modelsModule = defineModule({
  name: 'models',
  description: 'Catalog and prices of the models that providers offer',
  jobs: [renewal],
  routes: modelRoutes,
});
