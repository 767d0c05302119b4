import { defineModule } from '#core/http/route';
import { retention } from '#modules/logs/logs.jobs';
import { routes } from '#modules/logs/logs.routes';

/** Logs, request analytics and the log configuration. */
export const logsModule = defineModule({
  name: 'logs',
  description: 'Logs, request analytics and the log configuration',
  routes,
  jobs: [retention],
});
