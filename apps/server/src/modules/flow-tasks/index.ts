import { defineModule } from '#core/http/route';
import { adminRoutes, ownRoutes } from '#modules/flow-tasks/flow-tasks.routes';

/** Tasks that users of a tenant complete, and the evidence of their completions. */
export const flowTasksModule = defineModule({
  name: 'flow-tasks',
  description: 'Manage tasks that users complete, and keep evidence of completions',
  routes: [...adminRoutes, ...ownRoutes],
});
