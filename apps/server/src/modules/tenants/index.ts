import { defineModule } from '#core/http/route';
import type { Job } from '#core/jobs/job';
import { purgeTenants } from '#modules/tenants/purge.service';
import { tenantRoutes } from '#modules/tenants/tenants.routes';

export { TenantNotFound } from '#modules/tenants/tenants.errors';
export { reachTenant } from '#modules/tenants/tenants.service';

const purge: Job = {
  name: 'tenant-purge',
  description: 'Deletes what is left of tenants whose days of grace are over.',
  schedule: '23 * * * *',
  catchUp: 'run_once',
  timeoutMs: 30 * 60_000,
  run: ({ services, signal }) => purgeTenants({ ...services, signal }),
};

/** Tenants: settings of the own one, and for system administrators who gets in and when one ends. */
export const tenantsModule = defineModule({
  name: 'tenants',
  description: 'The own tenant and its settings; suspending and deleting tenants',
  routes: tenantRoutes,
  jobs: [purge],
});
