import { defineModule } from '#core/http/route';
import type { Job } from '#core/platform/jobs/job';
import { purgeTenants } from '#modules/tenants/purge.service';
import { tenantRoutes } from '#modules/tenants/tenants.routes';

export { TenantNotFound } from '#modules/tenants/tenants.errors';
export { reachTenant } from '#modules/tenants/tenants.service';

const purge: Job = {
  name: 'tenant-purge',
  description: 'Purges deleted tenants after their grace period.',
  schedule: '23 * * * *',
  catchUp: 'run_once',
  timeoutMs: 30 * 60_000,
  run: ({ services, signal }) => purgeTenants({ ...services, signal }),
};

/** Tenants: settings for their administrators; suspension and deletion for system administrators. */
export const tenantsModule = defineModule({
  name: 'tenants',
  description: 'Tenants and their settings; suspension and deletion of tenants',
  routes: tenantRoutes,
  jobs: [purge],
});
