import { defineModule } from '#core/http/route';
import { purge } from '#modules/tenants/tenants.jobs';
import { tenantRoutes } from '#modules/tenants/tenants.routes';

export { TenantNotFound } from '#modules/tenants/tenants.errors';
export { reachTenant } from '#modules/tenants/tenants.service';

/** Tenants: settings for their administrators; suspension and deletion for system administrators. */
export const tenantsModule = defineModule({
  name: 'tenants',
  description: 'Tenants and their settings; suspension and deletion of tenants',
  routes: tenantRoutes,
  jobs: [purge],
});
