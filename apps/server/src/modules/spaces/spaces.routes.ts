import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import {
  ParentNotFound,
  SpaceCycle,
  SpaceHasChildren,
  SpaceHasResources,
  SpaceNotFound,
  TooManyTranslations,
} from '#modules/spaces/spaces.errors';
import * as schemas from '#modules/spaces/spaces.schemas';
import { createSpace, deleteSpace, getSpace, listSpaces, updateSpace } from '#modules/spaces/spaces.service';
import { PropertiesInvalid, TypeNotFound, TypeEntityMismatch } from '#modules/type-definitions/index';

export const spaceRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/spaces',
    operationId: 'listSpaces',
    summary: 'List spaces by name, with search and filters',
    access: access.member('spaces.read'),
    schema: { query: schemas.ListSpacesQuery, response: { 200: schemas.SpacePage } },
    tool: {
      toolset: 'spaces',
      description:
        'Lists spaces (sites, buildings, floors, rooms) by name, page by page. `parent_id` lists the children of a space; the text `null` lists the roots. `search` finds words in names and descriptions.',
    },
    handler: ({ db, query, setHeader }) => listSpaces({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/spaces',
    operationId: 'createSpace',
    summary: 'Create a space, as a root or within another space',
    access: access.permission('spaces.manage', 'spaces.write'),
    schema: { body: schemas.CreateSpaceBody, response: { 201: schemas.SpaceAnswer } },
    errors: [ParentNotFound, TypeNotFound, TypeEntityMismatch, PropertiesInvalid],
    audit: 'space.created',
    tool: {
      toolset: 'spaces',
      description:
        'Creates a space: a root, or a child of the space `parent_id`. With a `type_id`, the `properties` must match the JSON Schema of that type; get_type_definition returns it.',
      destructive: false,
    },
    handler: ({ actor, body, db, services }) => createSpace({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/spaces/{id}',
    operationId: 'getSpace',
    summary: 'Get a space',
    access: access.member('spaces.read'),
    schema: { params: IdParams, response: { 200: schemas.SpaceAnswer } },
    errors: [SpaceNotFound],
    tool: {
      toolset: 'spaces',
      description: 'Gets a space by its id, with address, coordinates, capacity, type and properties.',
    },
    handler: ({ db, params }) => getSpace(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/spaces/{id}',
    operationId: 'updateSpace',
    summary: 'Update fields of a space, or move it with `parent_id`; null clears a field',
    access: access.permission('spaces.manage', 'spaces.write'),
    schema: { params: IdParams, body: schemas.UpdateSpaceBody, response: { 200: schemas.SpaceAnswer } },
    errors: [
      SpaceNotFound,
      ParentNotFound,
      SpaceCycle,
      TypeNotFound,
      TypeEntityMismatch,
      PropertiesInvalid,
      TooManyTranslations,
    ],
    audit: 'space.updated',
    tool: {
      toolset: 'spaces',
      description:
        'Updates the given fields of a space and keeps the others. Null clears a field. `parent_id` moves the space together with its subtree.',
    },
    handler: ({ actor, body, db, params, services }) => updateSpace({ db, actor, now: services.now }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/spaces/{id}',
    operationId: 'deleteSpace',
    summary: 'Delete a space that contains no spaces and no resources',
    access: access.permission('spaces.manage', 'spaces.delete'),
    schema: { params: IdParams, response: { 204: null } },
    errors: [SpaceNotFound, SpaceHasChildren, SpaceHasResources],
    audit: 'space.deleted',
    tool: {
      toolset: 'spaces',
      description: 'Deletes a space permanently. The call fails while the space contains other spaces or resources.',
    },
    handler: ({ actor, db, params, services }) => deleteSpace({ db, actor, services }, params.id),
  }),
];
