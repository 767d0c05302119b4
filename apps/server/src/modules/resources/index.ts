import { access } from '#core/access/access';
import { defineModule, defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import {
  ParentNotFound,
  PropertyNotAllowed,
  ResourceCycle,
  ResourceHasChildren,
  ResourceNotFound,
  SpaceNotFound,
  TooManyProperties,
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
import { PropertiesDoNotFit, TypeNotFound, TypeOfOtherEntity } from '#modules/type-definitions/index';

export { resourceTexts } from '#modules/resources/resource-texts.queries';

const writeErrors = [
  PropertyNotAllowed,
  ParentNotFound,
  SpaceNotFound,
  TypeNotFound,
  TypeOfOtherEntity,
  PropertiesDoNotFit,
] as const;

/** Things that a tenant has, in spaces or on their own, and parts of such things. */
export const resourcesModule = defineModule({
  name: 'resources',
  description: 'Things that a tenant has, in spaces or on their own, and parts of such things',
  constraints: { resources_parent: ParentNotFound, resources_space: SpaceNotFound, resources_type: TypeNotFound },
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/resources',
      operationId: 'listResources',
      summary: 'Resources of the tenant by name, with search and filters',
      access: access.member('resources.read'),
      schema: { query: schemas.ListResourcesQuery, response: { 200: schemas.ResourcePage } },
      tool: {
        toolset: 'resources',
        description:
          'Lists resources (things in spaces or on their own, and their parts) by name, page by page. `space_id` and `parent_id` narrow it down, `search` looks in names and descriptions.',
      },
      handler: ({ actor, db, query, setHeader }) => listResources({ db, actor, setHeader }, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/resources',
      operationId: 'createResource',
      summary: 'Create a resource, in a space, as part of another, or on its own',
      access: access.permission('resources.manage', 'resources.write'),
      schema: { body: schemas.CreateResourceBody, response: { 201: schemas.ResourceAnswer } },
      errors: writeErrors,
      audit: 'resource.created',
      tool: {
        toolset: 'resources',
        description:
          'Creates a resource: in a space with `space_id`, as part of another with `parent_id`, or on its own. With a `type_id` the `properties` have to fit the JSON Schema of that type.',
        destructive: false,
      },
      handler: ({ actor, body, db, services }) => createResource({ db, actor, now: services.now }, body),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/resources/{id}',
      operationId: 'getResource',
      summary: 'One resource',
      access: access.member('resources.read'),
      schema: { params: IdParams, response: { 200: schemas.ResourceAnswer } },
      errors: [ResourceNotFound],
      tool: {
        toolset: 'resources',
        description: 'One resource by its id, with its space, type and properties.',
      },
      handler: ({ actor, db, params }) => getResource({ db, actor }, params.id),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/secure/resources/{id}',
      operationId: 'updateResource',
      summary: 'Change fields of a resource, or move it by parent_id and space_id; null clears a field',
      access: access.permission('resources.manage', 'resources.write'),
      schema: { params: IdParams, body: schemas.UpdateResourceBody, response: { 200: schemas.ResourceAnswer } },
      errors: [ResourceNotFound, ResourceCycle, ...writeErrors, TooManyProperties, TooManyTranslations],
      audit: 'resource.updated',
      tool: {
        toolset: 'resources',
        description:
          'Changes the given fields of a resource and keeps the others; null clears a field, `space_id` and `parent_id` move it.',
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
        description: 'Deletes a resource for good. It is refused as long as the resource has parts.',
      },
      handler: ({ actor, db, params, services }) => deleteResource({ db, actor, services }, params.id),
    }),
  ],
});
