import { access } from '#core/base/access/access';
import { PermissionsAboveOwn } from '#core/base/errors/common-errors';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import {
  ApiKeyNotFound,
  ExpiresInThePast,
  PreviousSecretNotFound,
  UnknownTemplate,
} from '#modules/api-keys/api-keys.errors';
import * as schemas from '#modules/api-keys/api-keys.schemas';
import {
  createApiKey,
  deleteApiKey,
  deletePreviousSecret,
  getApiKey,
  getApiKeyUsage,
  listApiKeys,
  rotateApiKey,
  updateApiKey,
} from '#modules/api-keys/api-keys.service';
import { templates } from '#modules/api-keys/api-keys.templates';

const collection = '/api/v1/secure/api-keys';
const mayRead = access.permission('api_keys.read');
const mayManage = access.permission('api_keys.manage');

export const apiKeyRoutes = [
  defineRoute({
    method: 'GET',
    path: collection,
    operationId: 'listApiKeys',
    summary: 'List API keys of the tenant',
    access: mayRead,
    schema: { query: schemas.ListApiKeysQuery, response: { 200: schemas.ApiKeyList } },
    handler: ({ db, query }) => listApiKeys(db, query),
  }),
  defineRoute({
    method: 'POST',
    path: collection,
    operationId: 'createApiKey',
    summary: 'Create an API key; only this answer shows `fullKey`',
    access: mayManage,
    schema: {
      query: schemas.CreateApiKeyQuery,
      body: schemas.CreateApiKeyBody,
      response: { 201: schemas.IssuedApiKeyAnswer },
    },
    errors: [UnknownTemplate, ExpiresInThePast, PermissionsAboveOwn],
    audit: 'api_key.created',
    handler: ({ actor, body, db, query, services }) => createApiKey({ db, actor, services }, body, query.template),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/templates`,
    operationId: 'listApiKeyTemplates',
    summary: 'List permission templates for new API keys',
    access: mayRead,
    schema: { response: { 200: schemas.ApiKeyTemplateList } },
    handler: () => ({ data: templates }),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}`,
    operationId: 'getApiKey',
    summary: 'Get an API key',
    access: mayRead,
    schema: { params: IdParams, response: { 200: schemas.ApiKeyAnswer } },
    errors: [ApiKeyNotFound],
    handler: ({ db, params }) => getApiKey(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${collection}/{id}`,
    operationId: 'updateApiKey',
    summary: 'Update an API key; the change applies to its next request',
    access: mayManage,
    schema: { params: IdParams, body: schemas.UpdateApiKeyBody, response: { 200: schemas.ApiKeyAnswer } },
    errors: [ApiKeyNotFound, PermissionsAboveOwn],
    audit: 'api_key.updated',
    handler: ({ actor, body, db, params, services }) => updateApiKey({ db, actor, services }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${collection}/{id}`,
    operationId: 'deleteApiKey',
    summary: 'Delete an API key; its next request is refused',
    access: mayManage,
    schema: { params: IdParams, response: { 204: null } },
    errors: [ApiKeyNotFound, PermissionsAboveOwn],
    audit: 'api_key.deleted',
    handler: ({ actor, db, params, services }) => deleteApiKey({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${collection}/{id}/rotate`,
    operationId: 'rotateApiKey',
    summary: 'Rotate the secret of an API key, optionally with a grace period',
    access: mayManage,
    schema: {
      params: IdParams,
      query: schemas.RotateApiKeyQuery,
      body: schemas.RotateApiKeyBody,
      response: { 200: schemas.IssuedApiKeyAnswer },
    },
    errors: [ApiKeyNotFound, PermissionsAboveOwn],
    audit: 'api_key.rotated',
    handler: ({ actor, db, params, query, services, setHeader }) =>
      rotateApiKey({ db, actor, services, setHeader }, params.id, query.grace_seconds ?? 0),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${collection}/{id}/previous-secret`,
    operationId: 'deletePreviousSecret',
    summary: 'Revoke the previous secret of a rotated API key',
    access: mayManage,
    schema: { params: IdParams, response: { 204: null } },
    errors: [ApiKeyNotFound, PreviousSecretNotFound, PermissionsAboveOwn],
    audit: 'api_key.previous_secret_revoked',
    handler: ({ actor, db, params, services }) => deletePreviousSecret({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/{id}/usage`,
    operationId: 'getApiKeyUsage',
    summary: 'Get the usage of an API key',
    access: mayRead,
    schema: { params: IdParams, response: { 200: schemas.ApiKeyUsageAnswer } },
    errors: [ApiKeyNotFound],
    handler: ({ db, params, services }) => getApiKeyUsage({ db, services }, params.id),
  }),
];
