import { defineModule } from '#core/http/route';
import type { Job } from '#core/jobs/job';
import { routes } from '#modules/logs/logs.routes';
import { keepLogs } from '#modules/logs/retention';

const retention: Job = {
  name: 'log-retention',
  description:
    'Makes the partitions of the log for the days to come, and removes lines, counts and exports whose time is over.',
  schedule: '7 * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: ({ services, ...context }) => keepLogs(services, context),
};

/** What the service wrote down about itself, how it answers, and what of the log goes where. */
export const logsModule = defineModule({
  name: 'logs',
  description: 'What the service wrote down about itself, how it answers, and what of the log goes where',
  routes,
  jobs: [retention],
});
