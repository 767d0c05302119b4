import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import { listTenants, changeTenantStatus } from '#modules/tenants/administration.service';
import {
  DefaultLanguageMissing,
  SystemTenantProtected,
  TenantNotFound,
  TenantStatusConflict,
} from '#modules/tenants/tenants.errors';
import { tenantActions } from '#modules/tenants/tenants.rules';
import * as schemas from '#modules/tenants/tenants.schemas';
import { getTenant, updateTenant } from '#modules/tenants/tenants.service';

const moveErrors = [TenantNotFound, SystemTenantProtected, TenantStatusConflict];

export const tenantRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/tenants',
    operationId: 'listTenants',
    summary: 'List tenants of the installation',
    access: access.systemAdmin(),
    schema: { query: schemas.ListTenantsQuery, response: { 200: schemas.TenantPage } },
    handler: ({ query, services, setHeader }) => listTenants({ services, setHeader }, query),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/tenants/{id}',
    operationId: 'getTenant',
    summary: 'Get your tenant, or as system administrator any tenant',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.TenantAnswer } },
    errors: [TenantNotFound],
    handler: ({ actor, db, params, services }) => getTenant({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/tenants/{id}',
    operationId: 'updateTenant',
    summary: 'Update your tenant, or as system administrator any tenant',
    access: access.tenantAdmin(),
    schema: { params: IdParams, body: schemas.UpdateTenantBody, response: { 200: schemas.TenantAnswer } },
    errors: [TenantNotFound, DefaultLanguageMissing],
    audit: 'tenant.updated',
    handler: ({ actor, body, db, params, services }) => updateTenant({ db, actor, services }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/tenants/{id}',
    operationId: 'deleteTenant',
    summary: 'Delete a tenant after a grace period; its users lose access at once',
    access: access.systemAdmin(),
    schema: { params: IdParams, response: { 204: null } },
    errors: moveErrors,
    audit: tenantActions.delete,
    handler: async ({ actor, params, services }) => {
      await changeTenantStatus({ services, actor }, params.id, 'delete');
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/tenants/{id}/restore',
    operationId: 'restoreTenant',
    summary: 'Restore a deleted tenant within its grace period',
    access: access.systemAdmin(),
    schema: { params: IdParams, response: { 200: schemas.TenantAnswer } },
    errors: moveErrors,
    audit: tenantActions.restore,
    handler: ({ actor, params, services }) => changeTenantStatus({ services, actor }, params.id, 'restore'),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/tenants/{id}/suspend',
    operationId: 'suspendTenant',
    summary: 'Suspend a tenant; its users, keys and app accounts lose access at once',
    access: access.systemAdmin(),
    schema: { params: IdParams, response: { 200: schemas.TenantAnswer } },
    errors: moveErrors,
    audit: tenantActions.suspend,
    handler: ({ actor, params, services }) => changeTenantStatus({ services, actor }, params.id, 'suspend'),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/tenants/{id}/activate',
    operationId: 'activateTenant',
    summary: 'Activate a suspended tenant; its sessions and keys work again',
    access: access.systemAdmin(),
    schema: { params: IdParams, response: { 200: schemas.TenantAnswer } },
    errors: moveErrors,
    audit: tenantActions.activate,
    handler: ({ actor, params, services }) => changeTenantStatus({ services, actor }, params.id, 'activate'),
  }),
];
