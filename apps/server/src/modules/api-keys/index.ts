import { defineModule } from '#core/http/route';
import { apiKeyRoutes } from '#modules/api-keys/api-keys.routes';

export { createApiKeyAuthenticator } from '#modules/api-keys/authenticate';

/** API keys of a tenant, and what each of them may do. */
export const apiKeysModule = defineModule({
  name: 'api-keys',
  description: 'API keys of a tenant, and what each of them may do',
  routes: apiKeyRoutes,
});
