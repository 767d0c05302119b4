import { defineModule } from '#core/http/route';
import { retention } from '#modules/integrations/integrations.jobs';
import { integrationRoutes } from '#modules/integrations/integrations.routes';

/** The control plane: provider operations, their calls and metrics, tenant overrides and routing. */
export const integrationsModule = defineModule({
  name: 'integrations',
  description: 'Control plane of outside providers: operations, calls, metrics, tenant overrides and routing',
  routes: integrationRoutes,
  jobs: [retention],
});
