import { access } from '#core/access/access';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import { listTenants, moveTenant } from '#modules/tenants/administration.service';
import {
  DefaultLanguageMissing,
  SystemTenantKept,
  TenantNotFound,
  TenantStatusRefused,
} from '#modules/tenants/tenants.errors';
import { tenantActions } from '#modules/tenants/tenants.rules';
import * as schemas from '#modules/tenants/tenants.schemas';
import { getTenant, updateTenant } from '#modules/tenants/tenants.service';

const moveErrors = [TenantNotFound, SystemTenantKept, TenantStatusRefused];

export const tenantRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/tenants',
    operationId: 'listTenants',
    summary: 'Tenants of the installation by name, with search and filters',
    access: access.systemAdmin(),
    schema: { query: schemas.ListTenantsQuery, response: { 200: schemas.TenantPage } },
    handler: ({ query, services, setHeader }) => listTenants({ services, setHeader }, query),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/tenants/{id}',
    operationId: 'getTenant',
    summary: 'The own tenant; for system administrators any',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.TenantAnswer } },
    errors: [TenantNotFound],
    handler: ({ actor, db, params, services }) => getTenant({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/tenants/{id}',
    operationId: 'updateTenant',
    summary: 'Change name, languages and settings of the own tenant; for system administrators of any',
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
    summary: 'Delete a tenant after days of grace; nobody of it gets in from now on',
    access: access.systemAdmin(),
    schema: { params: IdParams, response: { 204: null } },
    errors: moveErrors,
    audit: tenantActions.delete,
    handler: async ({ actor, params, services }) => {
      await moveTenant({ services, actor }, params.id, 'delete');
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/tenants/{id}/restore',
    operationId: 'restoreTenant',
    summary: 'Take the deletion of a tenant back within its days of grace',
    access: access.systemAdmin(),
    schema: { params: IdParams, response: { 200: schemas.TenantAnswer } },
    errors: moveErrors,
    audit: tenantActions.restore,
    handler: ({ actor, params, services }) => moveTenant({ services, actor }, params.id, 'restore'),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/tenants/{id}/suspend',
    operationId: 'suspendTenant',
    summary: 'Keep everybody and everything of a tenant out, at once',
    access: access.systemAdmin(),
    schema: { params: IdParams, response: { 200: schemas.TenantAnswer } },
    errors: moveErrors,
    audit: tenantActions.suspend,
    handler: ({ actor, params, services }) => moveTenant({ services, actor }, params.id, 'suspend'),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/tenants/{id}/activate',
    operationId: 'activateTenant',
    summary: 'Let a suspended tenant in again, with the sessions and keys of before',
    access: access.systemAdmin(),
    schema: { params: IdParams, response: { 200: schemas.TenantAnswer } },
    errors: moveErrors,
    audit: tenantActions.activate,
    handler: ({ actor, params, services }) => moveTenant({ services, actor }, params.id, 'activate'),
  }),
];
