import { access } from '#core/access/access';
import { defineModule, defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import { DefaultLanguageMissing, TenantNotFound } from '#modules/tenants/tenants.errors';
import * as schemas from '#modules/tenants/tenants.schemas';
import { getTenant, updateTenant } from '#modules/tenants/tenants.service';

/** The own tenant and its settings. */
export const tenantsModule = defineModule({
  name: 'tenants',
  description: 'The own tenant and its settings',
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/tenants/{id}',
      operationId: 'getTenant',
      summary: 'The own tenant',
      access: access.member(),
      schema: { params: IdParams, response: { 200: schemas.TenantAnswer } },
      errors: [TenantNotFound],
      handler: ({ db, params }) => getTenant(db, params.id),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/secure/tenants/{id}',
      operationId: 'updateTenant',
      summary: 'Change name, languages and settings of the own tenant',
      access: access.tenantAdmin(),
      schema: { params: IdParams, body: schemas.UpdateTenantBody, response: { 200: schemas.TenantAnswer } },
      errors: [TenantNotFound, DefaultLanguageMissing],
      audit: 'tenant.updated',
      handler: ({ actor, body, db, params, services }) => updateTenant({ db, actor, services }, params.id, body),
    }),
  ],
});
