import { access } from '#core/access/access';
import { defineModule, defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import {
  ParentNotFound,
  SpaceCycle,
  SpaceHasChildren,
  SpaceHasResources,
  SpaceNotFound,
} from '#modules/spaces/spaces.errors';
import * as schemas from '#modules/spaces/spaces.schemas';
import { createSpace, deleteSpace, getSpace, listSpaces, updateSpace } from '#modules/spaces/spaces.service';
import { PropertiesDoNotFit, TypeNotFound, TypeOfOtherEntity } from '#modules/type-definitions/index';

export { spaceTexts } from '#modules/spaces/space-texts.queries';
export {
  Name,
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
      handler: ({ db, params }) => getSpace(db, params.id),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/secure/spaces/{id}',
      operationId: 'updateSpace',
      summary: 'Change fields of a space, or move it by parent_id; null clears a field',
      access: access.permission('spaces.manage', 'spaces.write'),
      schema: { params: IdParams, body: schemas.UpdateSpaceBody, response: { 200: schemas.SpaceAnswer } },
      errors: [SpaceNotFound, ParentNotFound, SpaceCycle, TypeNotFound, TypeOfOtherEntity, PropertiesDoNotFit],
      audit: 'space.updated',
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
      handler: ({ actor, db, params, services }) => deleteSpace({ db, actor, services }, params.id),
    }),
  ],
});
