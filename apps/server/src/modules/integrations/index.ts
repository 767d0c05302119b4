import { defineModule } from '#core/http/route';
import type { Job } from '#core/platform/jobs/job';
import { integrationRoutes } from '#modules/integrations/integrations.routes';
import { keepCalls } from '#modules/integrations/retention';

const retention: Job = {
  name: 'provider-call-retention',
  description: 'Creates partitions of the provider call log for the coming days and drops expired ones.',
  schedule: '17 * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: keepCalls,
};

/** The control plane: provider operations, their calls and metrics, tenant overrides and routing. */
export const integrationsModule = defineModule({
  name: 'integrations',
  description: 'Control plane of outside providers: operations, calls, metrics, tenant overrides and routing',
  routes: integrationRoutes,
  jobs: [retention],
});
