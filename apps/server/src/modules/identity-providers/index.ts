import { defineModule } from '#core/http/route';
import { abandonedFlows } from '#modules/identity-providers/identity-providers.jobs';
import { identityProviderRoutes } from '#modules/identity-providers/identity-providers.routes';

/** Login through external identity providers. */
export const identityProvidersModule = defineModule({
  name: 'identity-providers',
  description: 'Login through external identity providers',
  routes: identityProviderRoutes,
  jobs: [abandonedFlows],
});
