import { defineModule } from '#core/http/route';
import { identityProviderRoutes } from '#modules/identity-providers/identity-providers.routes';

export { deleteAbandonedFlows } from '#modules/identity-providers/logins/flows';

/** Login through outside identity providers. */
export const identityProvidersModule = defineModule({
  name: 'identity-providers',
  description: 'Login through outside identity providers',
  routes: identityProviderRoutes,
});
