import { defineModule } from '#core/http/route';
import { systemJobs } from '#modules/system/system.jobs';
import { systemRoutes } from '#modules/system/system.routes';

/** Health, version, metrics, mail outbox and security events for operators of the installation. */
export const systemModule = defineModule({
  name: 'system',
  description: 'Health, version, metrics, mail outbox and security events of the installation',
  jobs: systemJobs,
  routes: systemRoutes,
});
