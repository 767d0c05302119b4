import { defineModule } from '#core/http/route';
import type { Job } from '#core/jobs/job';
import { integrationRoutes } from '#modules/integrations/integrations.routes';
import { keepCalls } from '#modules/integrations/retention';

const retention: Job = {
  name: 'provider-call-retention',
  description:
    'Makes the partitions of calls to providers for the days to come, and removes those of days that are over.',
  schedule: '17 * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: keepCalls,
};

/** The control plane: what outside providers were called for, what came of it, and who may use which. */
export const integrationsModule = defineModule({
  name: 'integrations',
  description: 'What outside providers were called for, what came of it, and what a tenant does differently',
  routes: integrationRoutes,
  jobs: [retention],
});
