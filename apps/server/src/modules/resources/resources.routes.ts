import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import {
  ParentNotFound,
  PropertyNotAllowed,
  ResourceCycle,
  ResourceHasChildren,
  ResourceNotFound,
  SpaceNotFound,
  PropertiesTooLarge,
} from '#modules/resources/resources.errors';
import * as schemas from '#modules/resources/resources.schemas';
import {
  createResource,
  deleteResource,
  getResource,
  listResources,
  updateResource,
} from '#modules/resources/resources.service';
import { TooManyTranslations } from '#modules/spaces/index';
import { PropertiesInvalid, TypeNotFound, TypeEntityMismatch } from '#modules/type-definitions/index';

const writeErrors = [
  PropertyNotAllowed,
  ParentNotFound,
  SpaceNotFound,
  TypeNotFound,
  TypeEntityMismatch,
  PropertiesInvalid,
] as const;

export const resourceRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/resources',
    operationId: 'listResources',
    summary: 'List resources by name, with search and filters',
    access: access.member('resources.read'),
    schema: { query: schemas.ListResourcesQuery, response: { 200: schemas.ResourcePage } },
    tool: {
      toolset: 'resources',
      description:
        'Lists resources (things in spaces or on their own, and their parts) by name, page by page. `space_id` and `parent_id` are filters. `search` finds words in names, descriptions and serial numbers.',
    },
    handler: ({ actor, db, query, setHeader }) => listResources({ db, actor, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/resources',
    operationId: 'createResource',
    summary: 'Create a resource, in a space, as part of another resource, or on its own',
    access: access.permission('resources.manage', 'resources.write'),
    schema: { body: schemas.CreateResourceBody, response: { 201: schemas.ResourceAnswer } },
    errors: writeErrors,
    audit: 'resource.created',
    tool: {
      toolset: 'resources',
      description:
        'Creates a resource: in the space `space_id`, as part of the resource `parent_id`, or on its own. With a `type_id`, the `properties` must match the JSON Schema of that type; get_type_definition returns it.',
      destructive: false,
    },
    handler: ({ actor, body, db, services }) => createResource({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/resources/{id}',
    operationId: 'getResource',
    summary: 'Get a resource',
    access: access.member('resources.read'),
    schema: { params: IdParams, response: { 200: schemas.ResourceAnswer } },
    errors: [ResourceNotFound],
    tool: {
      toolset: 'resources',
      description: 'Gets a resource by its id, with its space, type and properties.',
    },
    handler: ({ actor, db, params }) => getResource({ db, actor }, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/resources/{id}',
    operationId: 'updateResource',
    summary: 'Update fields of a resource, or move it with `parent_id` and `space_id`; null clears a field',
    access: access.permission('resources.manage', 'resources.write'),
    schema: { params: IdParams, body: schemas.UpdateResourceBody, response: { 200: schemas.ResourceAnswer } },
    errors: [ResourceNotFound, ResourceCycle, ...writeErrors, PropertiesTooLarge, TooManyTranslations],
    audit: 'resource.updated',
    tool: {
      toolset: 'resources',
      description:
        'Updates the given fields of a resource and keeps the others. Null clears a field. `space_id` and `parent_id` move the resource.',
    },
    handler: ({ actor, body, db, params, services }) =>
      updateResource({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/resources/{id}',
    operationId: 'deleteResource',
    summary: 'Delete a resource that has no parts',
    access: access.permission('resources.manage', 'resources.delete'),
    schema: { params: IdParams, response: { 204: null } },
    errors: [ResourceNotFound, ResourceHasChildren],
    audit: 'resource.deleted',
    tool: {
      toolset: 'resources',
      description: 'Deletes a resource permanently. The call fails while the resource has parts.',
    },
    handler: ({ actor, db, params, services }) => deleteResource({ db, actor, services }, params.id),
  }),
];
