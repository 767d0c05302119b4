import { defineModule } from '#core/http/route';
import { routes } from '#modules/logs/logs.routes';

export { keepLogs } from '#modules/logs/retention';

/** What the service wrote down about itself, how it answers, and what of the log goes where. */
export const logsModule = defineModule({
  name: 'logs',
  description: 'What the service wrote down about itself, how it answers, and what of the log goes where',
  routes,
});
