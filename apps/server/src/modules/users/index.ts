import { access } from '#core/base/access/access';
import { PermissionsAboveOwn } from '#core/base/errors/common-errors';
import { IdParams } from '#core/base/schemas';
import { defineModule, defineRoute } from '#core/http/route';
import { TooManyInvitations } from '#modules/auth/index';
import { profileRoutes } from '#modules/users/profile.routes';
import {
  BootstrapOnly,
  GroupNotFound,
  LastAdministrator,
  LocaleNotOffered,
  UserAlreadyJoined,
  UserNotJoined,
  RoleAboveOwn,
  UserExists,
  UserNotFound,
} from '#modules/users/users.errors';
import { leftovers } from '#modules/users/users.jobs';
import * as schemas from '#modules/users/users.schemas';
import {
  createUser,
  deleteUser,
  getUser,
  inviteUser,
  listUsers,
  resendInvitation,
  updateUser,
} from '#modules/users/users.service';

export { RoleAboveOwn } from '#modules/users/users.errors';
export { assertMayChangeUser } from '#modules/users/users.service';

/** Users of a tenant. */
export const usersModule = defineModule({
  name: 'users',
  work: [leftovers],
  description: 'Users of a tenant and the profile of the caller',
  constraints: {
    users_account_key: UserExists,
    memberships_pkey: UserExists,
    group_members_group: GroupNotFound,
  },
  routes: [
    ...profileRoutes,
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/users',
      operationId: 'listUsers',
      summary: 'List users of the tenant',
      access: access.permission('users.read', 'users.read'),
      schema: { query: schemas.ListUsersQuery, response: { 200: schemas.UserPage } },
      tool: {
        toolset: 'people',
        description: 'Lists the users of the tenant by name, with search and filters.',
      },
      handler: ({ db, query, setHeader }) => listUsers({ db, setHeader }, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/users',
      operationId: 'createUser',
      summary: 'Create a user, or invite a person who has an account',
      access: access.permission('users.manage'),
      schema: { body: schemas.CreateUserBody, response: { 201: schemas.UserAnswer } },
      errors: [UserExists, RoleAboveOwn, BootstrapOnly, LocaleNotOffered, TooManyInvitations],
      audit: 'user.created',
      handler: ({ actor, body, db, services }) => createUser({ db, actor, services }, body),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/users/invite',
      operationId: 'inviteUser',
      summary: 'Invite a user by mail, into groups whose permissions the caller holds',
      access: access.permission('users.manage'),
      schema: { body: schemas.InviteUserBody, response: { 201: schemas.UserAnswer } },
      errors: [
        UserExists,
        GroupNotFound,
        RoleAboveOwn,
        BootstrapOnly,
        LocaleNotOffered,
        PermissionsAboveOwn,
        TooManyInvitations,
      ],
      audit: 'user.invited',
      handler: ({ actor, body, db, services }) => inviteUser({ db, actor, services }, body),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/users/{id}/invite',
      operationId: 'resendInvitation',
      summary: 'Send an open invitation again with a new link',
      access: access.permission('users.manage'),
      schema: { params: IdParams, response: { 200: schemas.UserAnswer } },
      errors: [UserNotFound, UserAlreadyJoined, RoleAboveOwn, TooManyInvitations],
      audit: 'user.invitation_sent',
      handler: ({ actor, db, params, services }) => resendInvitation({ db, actor, services }, params.id),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/users/{id}',
      operationId: 'getUser',
      summary: 'Get a user',
      access: access.permission('users.read', 'users.read'),
      schema: { params: IdParams, response: { 200: schemas.UserAnswer } },
      errors: [UserNotFound],
      tool: {
        toolset: 'people',
        description: 'Returns one user of the tenant with the groups of the user.',
      },
      handler: ({ db, params }) => getUser(db, params.id),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/secure/users/{id}',
      operationId: 'updateUser',
      summary: 'Update a user; changes take effect at once',
      access: access.permission('users.manage'),
      schema: { params: IdParams, body: schemas.UpdateUserBody, response: { 200: schemas.UserAnswer } },
      errors: [UserNotFound, LastAdministrator, RoleAboveOwn, BootstrapOnly, UserNotJoined, LocaleNotOffered],
      audit: 'user.updated',
      handler: ({ actor, body, db, params, services }) => updateUser({ db, actor, services }, params.id, body),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/secure/users/{id}',
      operationId: 'deleteUser',
      summary: 'Remove a user from the tenant; the account remains',
      access: access.permission('users.manage'),
      schema: { params: IdParams, response: { 204: null } },
      errors: [UserNotFound, LastAdministrator, RoleAboveOwn],
      audit: 'user.deleted',
      handler: ({ actor, db, params, services }) => deleteUser({ db, actor, services }, params.id),
    }),
  ],
});
