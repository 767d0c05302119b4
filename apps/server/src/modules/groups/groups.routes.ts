import { access } from '#core/base/access/access';
import { PermissionsAboveOwn } from '#core/base/errors/common-errors';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
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

export const groupRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/groups',
    operationId: 'listGroups',
    summary: 'List groups by name',
    access: access.permission('groups.read'),
    schema: { query: schemas.ListGroupsQuery, response: { 200: schemas.GroupPage } },
    tool: {
      toolset: 'groups',
      description: 'Lists the groups of the tenant by name, with the permissions of their members.',
    },
    handler: ({ db, query, setHeader }) => listGroups({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/groups',
    operationId: 'createGroup',
    summary: 'Create a group; the caller must hold its permissions',
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
    summary: 'Get a group',
    access: access.permission('groups.read'),
    schema: { params: IdParams, response: { 200: schemas.GroupAnswer } },
    errors: [GroupNotFound],
    tool: {
      toolset: 'groups',
      description: 'Gets a group by its id.',
    },
    handler: ({ db, params }) => getGroup(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api/v1/secure/groups/{id}',
    operationId: 'updateGroup',
    summary: 'Update a group; new permissions take effect immediately',
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
    summary: 'Delete a group; its members lose its permissions immediately',
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
    summary: 'List the members of a group by name',
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
    summary: 'Add a user to a group (idempotent)',
    access: access.permission('groups.manage'),
    schema: { params: IdParams, body: schemas.AddGroupMemberBody, response: { 201: schemas.GroupMemberAnswer } },
    errors: [GroupNotFound, MemberNotFound, PermissionsAboveOwn],
    audit: 'group.member_added',
    handler: ({ actor, body, db, params, services }) => addGroupMember({ db, actor, services }, params.id, body.userId),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/groups/{id}/members/{userId}',
    operationId: 'removeGroupMember',
    summary: 'Remove a user from a group',
    access: access.permission('groups.manage'),
    schema: { params: schemas.GroupMemberParams, response: { 204: null } },
    errors: [GroupNotFound, NotAMember, PermissionsAboveOwn],
    audit: 'group.member_removed',
    handler: ({ actor, db, params, services }) => removeGroupMember({ db, actor, services }, params.id, params.userId),
  }),
];
