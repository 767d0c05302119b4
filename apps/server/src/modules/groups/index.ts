import { access } from '#core/access/access';
import { PermissionsAboveOwn } from '#core/errors/common-errors';
import { defineModule, defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import { GroupNameTaken, GroupNotFound, MemberNotFound, NotAMember } from '#modules/groups/groups.errors';
import * as schemas from '#modules/groups/groups.schemas';
import {
  addGroupMember,
  createGroup,
  deleteGroup,
  getGroup,
  listGroupMembers,
  listGroups,
  removeGroupMember,
  updateGroup,
} from '#modules/groups/groups.service';

/** Groups of users, and the permissions that their members hold. */
export const groupsModule = defineModule({
  name: 'groups',
  description: 'Groups of users, and the permissions that their members hold',
  constraints: { groups_name_key: GroupNameTaken, group_members_user: MemberNotFound },
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/groups',
      operationId: 'listGroups',
      summary: 'Groups of the tenant by name',
      access: access.permission('groups.read'),
      schema: { query: schemas.ListGroupsQuery, response: { 200: schemas.GroupPage } },
      tool: {
        toolset: 'groups',
        description: 'Lists the groups of the tenant by name, with the permissions that their members hold.',
      },
      handler: ({ db, query, setHeader }) => listGroups({ db, setHeader }, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/groups',
      operationId: 'createGroup',
      summary: 'Create a group with permissions that the caller holds',
      access: access.permission('groups.manage'),
      schema: { body: schemas.CreateGroupBody, response: { 201: schemas.GroupAnswer } },
      errors: [GroupNameTaken, PermissionsAboveOwn],
      audit: 'group.created',
      handler: ({ actor, body, db, services }) => createGroup({ db, actor, services }, body),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/groups/{id}',
      operationId: 'getGroup',
      summary: 'One group',
      access: access.permission('groups.read'),
      schema: { params: IdParams, response: { 200: schemas.GroupAnswer } },
      errors: [GroupNotFound],
      tool: {
        toolset: 'groups',
        description: 'One group by its id.',
      },
      handler: ({ db, params }) => getGroup(db, params.id),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/secure/groups/{id}',
      operationId: 'updateGroup',
      summary: 'Change a group; its members hold the new permissions at once',
      access: access.permission('groups.manage'),
      schema: { params: IdParams, body: schemas.UpdateGroupBody, response: { 200: schemas.GroupAnswer } },
      errors: [GroupNotFound, GroupNameTaken, PermissionsAboveOwn],
      audit: 'group.updated',
      handler: ({ actor, body, db, params, services }) => updateGroup({ db, actor, services }, params.id, body),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/secure/groups/{id}',
      operationId: 'deleteGroup',
      summary: 'Delete a group; its members lose its permissions at once',
      access: access.permission('groups.manage'),
      schema: { params: IdParams, response: { 204: null } },
      errors: [GroupNotFound, PermissionsAboveOwn],
      audit: 'group.deleted',
      handler: ({ actor, db, params, services }) => deleteGroup({ db, actor, services }, params.id),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/groups/{id}/members',
      operationId: 'listGroupMembers',
      summary: 'Members of a group by name',
      access: access.permission('groups.read'),
      schema: {
        params: IdParams,
        query: schemas.ListGroupMembersQuery,
        response: { 200: schemas.GroupMemberPage },
      },
      errors: [GroupNotFound],
      tool: {
        toolset: 'groups',
        description: 'Lists the members of a group by name.',
      },
      handler: ({ db, params, query, setHeader }) => listGroupMembers({ db, setHeader }, params.id, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/groups/{id}/members',
      operationId: 'addGroupMember',
      summary: 'Add a user to a group; adding again is safe',
      access: access.permission('groups.manage'),
      schema: { params: IdParams, body: schemas.AddGroupMemberBody, response: { 201: schemas.GroupMemberAnswer } },
      errors: [GroupNotFound, MemberNotFound, PermissionsAboveOwn],
      audit: 'group.member_added',
      handler: ({ actor, body, db, params, services }) =>
        addGroupMember({ db, actor, services }, params.id, body.userId),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/secure/groups/{id}/members/{userId}',
      operationId: 'removeGroupMember',
      summary: 'Take a user out of a group',
      access: access.permission('groups.manage'),
      schema: { params: schemas.GroupMemberParams, response: { 204: null } },
      errors: [GroupNotFound, NotAMember, PermissionsAboveOwn],
      audit: 'group.member_removed',
      handler: ({ actor, db, params, services }) =>
        removeGroupMember({ db, actor, services }, params.id, params.userId),
    }),
  ],
});
