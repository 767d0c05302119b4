import { defineModule } from '#core/http/route';
import type { Job } from '#core/platform/jobs/job';
import { routes } from '#modules/logs/logs.routes';
import { keepLogs } from '#modules/logs/retention';

const retention: Job = {
  name: 'log-retention',
  description: 'Creates log partitions for future days; archives and purges expired lines, counts and exports.',
  schedule: '2-57/5 * * * *',
  catchUp: 'run_once',
  timeoutMs: 60 * 60_000,
  run: ({ services, ...context }) => keepLogs(services, context),
};

/** Logs, request analytics and the log configuration. */
export const logsModule = defineModule({
  name: 'logs',
  description: 'Logs, request analytics and the log configuration',
  routes,
  jobs: [retention],
});
