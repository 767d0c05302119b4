import { defineModule } from '#core/http/route';
import { oldUsage } from '#modules/api-keys/api-keys.jobs';
import { apiKeyRoutes } from '#modules/api-keys/api-keys.routes';

export { createApiKeyAuthenticator } from '#modules/api-keys/authenticate';

/** API keys of a tenant and their permissions. */
export const apiKeysModule = defineModule({
  name: 'api-keys',
  description: 'API keys of a tenant and their permissions',
  routes: apiKeyRoutes,
  jobs: [oldUsage],
});
