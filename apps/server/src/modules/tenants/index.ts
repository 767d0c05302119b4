import { defineModule } from '#core/http/route';
import { tenantRoutes } from '#modules/tenants/tenants.routes';

export { purgeTenants } from '#modules/tenants/purge.service';
export { TenantNotFound } from '#modules/tenants/tenants.errors';
export { reachTenant } from '#modules/tenants/tenants.service';

/** Tenants: settings of the own one, and for system administrators who gets in and when one ends. */
export const tenantsModule = defineModule({
  name: 'tenants',
  description: 'The own tenant and its settings; suspending and deleting tenants',
  routes: tenantRoutes,
});
