import { access } from '#core/access/access';
import { defineModule, defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
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
import { PropertiesDoNotFit, TypeNotFound, TypeOfOtherEntity } from '#modules/type-definitions/index';

export { TooManyTranslations } from '#modules/spaces/spaces.errors';
export { shareSpace } from '#modules/spaces/spaces.queries';
export { assertTranslationsFit } from '#modules/spaces/spaces.service';
export { spaceTexts } from '#modules/spaces/space-texts.queries';
export {
  Name,
  commonChanges,
  commonFields,
  commonFilters,
  commonRecord,
  idOrNull,
  maxJsonBytes,
  textLimits,
} from '#modules/spaces/spaces.schemas';

/** Sites, buildings, floors, rooms: spaces within spaces. */
export const spacesModule = defineModule({
  name: 'spaces',
  description: 'Sites, buildings, floors, rooms: spaces within spaces',
  constraints: { spaces_parent: ParentNotFound, spaces_type: TypeNotFound },
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/spaces',
      operationId: 'listSpaces',
      summary: 'Spaces of the tenant by name, with search and filters',
      access: access.member('spaces.read'),
      schema: { query: schemas.ListSpacesQuery, response: { 200: schemas.SpacePage } },
      tool: {
        toolset: 'spaces',
        description:
          'Lists spaces (sites, buildings, floors, rooms) by name, page by page. Use `parent_id` to walk down the tree, with the text null for the roots, and `search` for words in names and descriptions.',
      },
      handler: ({ db, query, setHeader }) => listSpaces({ db, setHeader }, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/spaces',
      operationId: 'createSpace',
      summary: 'Create a space, at the top or within another',
      access: access.permission('spaces.manage', 'spaces.write'),
      schema: { body: schemas.CreateSpaceBody, response: { 201: schemas.SpaceAnswer } },
      errors: [ParentNotFound, TypeNotFound, TypeOfOtherEntity, PropertiesDoNotFit],
      audit: 'space.created',
      tool: {
        toolset: 'spaces',
        description:
          'Creates a space, at the top or within the space `parent_id`. With a `type_id` the `properties` have to fit the JSON Schema of that type: see get_type_definition.',
        destructive: false,
      },
      handler: ({ actor, body, db, services }) => createSpace({ db, actor, now: services.now }, body),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/spaces/{id}',
      operationId: 'getSpace',
      summary: 'One space',
      access: access.member('spaces.read'),
      schema: { params: IdParams, response: { 200: schemas.SpaceAnswer } },
      errors: [SpaceNotFound],
      tool: {
        toolset: 'spaces',
        description: 'One space by its id, with address, coordinates, capacity, type and properties.',
      },
      handler: ({ db, params }) => getSpace(db, params.id),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/secure/spaces/{id}',
      operationId: 'updateSpace',
      summary: 'Change fields of a space, or move it by parent_id; null clears a field',
      access: access.permission('spaces.manage', 'spaces.write'),
      schema: { params: IdParams, body: schemas.UpdateSpaceBody, response: { 200: schemas.SpaceAnswer } },
      errors: [
        SpaceNotFound,
        ParentNotFound,
        SpaceCycle,
        TypeNotFound,
        TypeOfOtherEntity,
        PropertiesDoNotFit,
        TooManyTranslations,
      ],
      audit: 'space.updated',
      tool: {
        toolset: 'spaces',
        description:
          'Changes the given fields of a space and keeps the others; null clears a field, `parent_id` moves the space with all within it.',
      },
      handler: ({ actor, body, db, params, services }) =>
        updateSpace({ db, actor, now: services.now }, params.id, body),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/secure/spaces/{id}',
      operationId: 'deleteSpace',
      summary: 'Delete a space that has neither parts nor resources',
      access: access.permission('spaces.manage', 'spaces.delete'),
      schema: { params: IdParams, response: { 204: null } },
      errors: [SpaceNotFound, SpaceHasChildren, SpaceHasResources],
      audit: 'space.deleted',
      tool: {
        toolset: 'spaces',
        description: 'Deletes a space for good. It is refused as long as the space has parts or resources.',
      },
      handler: ({ actor, db, params, services }) => deleteSpace({ db, actor, services }, params.id),
    }),
  ],
});
