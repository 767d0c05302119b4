import { defineModule } from '#core/http/route';
import type { Job } from '#core/platform/jobs/job';
import { identityProviderRoutes } from '#modules/identity-providers/identity-providers.routes';
import { deleteAbandonedFlows } from '#modules/identity-providers/logins/flows';

const abandonedFlows: Job = {
  name: 'abandoned-sign-in-flows',
  description: 'Deletes provider logins that expired before they were completed.',
  schedule: '17 * * * *',
  catchUp: 'run_once',
  timeoutMs: 5 * 60_000,
  run: ({ services, signal }) => deleteAbandonedFlows(services, signal),
};

/** Login through external identity providers. */
export const identityProvidersModule = defineModule({
  name: 'identity-providers',
  description: 'Login through external identity providers',
  routes: identityProviderRoutes,
  jobs: [abandonedFlows],
});
