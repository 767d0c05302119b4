import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import {
  InvalidJsonSchema,
  TypeDefinitionNotFound,
  TypeInUse,
  TypeKeyTaken,
} from '#modules/type-definitions/type-definitions.errors';
import * as schemas from '#modules/type-definitions/type-definitions.schemas';
import {
  createTypeDefinition,
  deleteTypeDefinition,
  getTypeDefinition,
  listTypeDefinitions,
  updateTypeDefinition,
} from '#modules/type-definitions/type-definitions.service';

export const typeDefinitionRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/type-definitions',
    operationId: 'listTypeDefinitions',
    summary: 'List types of spaces and resources by name, with search and filters',
    access: access.member('typeDefinitions.read'),
    schema: { query: schemas.ListTypeDefinitionsQuery, response: { 200: schemas.TypeDefinitionPage } },
    tool: {
      toolset: 'types',
      description:
        'Lists the types of spaces and resources. The `properties` of a record must match the JSON Schema of its type.',
    },
    handler: ({ db, query, setHeader }) => listTypeDefinitions({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/type-definitions',
    operationId: 'createTypeDefinition',
    summary: 'Create a type of spaces or resources, with the JSON Schema of its properties',
    access: access.permission('type_definitions.manage'),
    schema: { body: schemas.CreateTypeDefinitionBody, response: { 201: schemas.TypeDefinitionAnswer } },
    errors: [TypeKeyTaken, InvalidJsonSchema],
    audit: 'type_definition.created',
    handler: ({ actor, body, db, services }) => createTypeDefinition({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/type-definitions/{id}',
    operationId: 'getTypeDefinition',
    summary: 'Get a type',
    access: access.member('typeDefinitions.read'),
    schema: { params: IdParams, response: { 200: schemas.TypeDefinitionAnswer } },
    errors: [TypeDefinitionNotFound],
    tool: {
      toolset: 'types',
      description: 'Gets a type of spaces or resources by its id, with the JSON Schema of the properties.',
    },
    handler: ({ db, params }) => getTypeDefinition(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/type-definitions/{id}',
    operationId: 'updateTypeDefinition',
    summary: 'Update a type; a new schema applies to a record when that record is next written',
    access: access.permission('type_definitions.manage'),
    schema: {
      params: IdParams,
      body: schemas.UpdateTypeDefinitionBody,
      response: { 200: schemas.TypeDefinitionAnswer },
    },
    errors: [TypeDefinitionNotFound, TypeKeyTaken, InvalidJsonSchema],
    audit: 'type_definition.updated',
    handler: ({ actor, body, db, params, services }) =>
      updateTypeDefinition({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/type-definitions/{id}',
    operationId: 'deleteTypeDefinition',
    summary: 'Delete a type that no record uses',
    access: access.permission('type_definitions.manage'),
    schema: { params: IdParams, response: { 204: null } },
    errors: [TypeDefinitionNotFound, TypeInUse],
    audit: 'type_definition.deleted',
    handler: ({ actor, db, params, services }) => deleteTypeDefinition({ db, actor, now: services.now }, params.id),
  }),
];
