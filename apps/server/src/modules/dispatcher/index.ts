import { defineModule } from '#core/http/route';
import { history } from '#modules/dispatcher/dispatcher.jobs';
import { dispatcherRoutes } from '#modules/dispatcher/dispatcher.routes';

/** Scheduled jobs: dispatches, runs, alerts and changes by operators. */
export const dispatcherModule = defineModule({
  name: 'dispatcher',
  description: 'Scheduled jobs: external scheduler, history and alerts',
  routes: dispatcherRoutes,
  jobs: [history],
});
