import { defineModule } from '#core/http/route';
import { adminRoutes, ownRoutes } from '#modules/flow-tasks/flow-tasks.routes';

/** What a tenant asks its people to do, and the evidence of what they did. */
export const flowTasksModule = defineModule({
  name: 'flow-tasks',
  description: 'What a tenant asks its people to do, and the evidence of what they did',
  routes: [...adminRoutes, ...ownRoutes],
});
