import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import * as schemas from '#modules/storage/storage.schemas';
import { getStorageStats, getTenantStorage, updateTenantStorage } from '#modules/storage/storage.service';
import { TenantNotFound } from '#modules/tenants/index';

export const storageRoutes = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/storage/default-tenant-storage/stats',
    operationId: 'getDefaultStorageStats',
    summary: 'Get the storage statistics of all tenants',
    access: access.systemAdmin(),
    schema: { response: { 200: schemas.StorageStatsAnswer } },
    handler: ({ services }) => getStorageStats(services),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/storage/system/stats',
    operationId: 'getSystemStorageStats',
    summary: 'Get the storage statistics of all tenants; the same as default-tenant-storage',
    access: access.systemAdmin(),
    schema: { response: { 200: schemas.StorageStatsAnswer } },
    handler: ({ services }) => getStorageStats(services),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/tenants/{id}/default-tenant-storage',
    operationId: 'updateDefaultTenantStorage',
    summary: 'Set the storage quota of a tenant',
    access: access.systemAdmin(),
    schema: {
      params: IdParams,
      body: schemas.UpdateDefaultStorageBody,
      response: { 200: schemas.TenantStorageAnswer },
    },
    errors: [TenantNotFound],
    audit: 'storage.updated',
    handler: ({ actor, body, db, params, services }) => updateTenantStorage({ db, actor, services }, params.id, body),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/tenants/{id}/system-storage',
    operationId: 'updateSystemTenantStorage',
    summary: 'Set the storage quota of a tenant, or disable its storage so that no files can be added',
    access: access.systemAdmin(),
    schema: { params: IdParams, body: schemas.UpdateSystemStorageBody, response: { 200: schemas.TenantStorageAnswer } },
    errors: [TenantNotFound],
    audit: 'storage.updated',
    handler: ({ actor, body, db, params, services }) => updateTenantStorage({ db, actor, services }, params.id, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/tenants/{id}/storage',
    operationId: 'getTenantStorage',
    summary: 'Get usage and quota of your tenant',
    access: access.tenantAdmin(),
    schema: { params: IdParams, response: { 200: schemas.TenantStorageAnswer } },
    errors: [TenantNotFound],
    handler: ({ db, params, services }) => getTenantStorage({ db, services }, params.id),
  }),
];
