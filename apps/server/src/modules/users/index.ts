import { access } from '#core/access/access';
import { PermissionsAboveOwn } from '#core/errors/common-errors';
import { defineModule, defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import { TooManyInvitations } from '#modules/auth/index';
import { profileRoutes } from '#modules/users/profile.routes';
import {
  BootstrapOnly,
  GroupNotFound,
  LastAdministrator,
  LocaleNotOffered,
  NotInvited,
  NotJoinedYet,
  RoleAboveOwn,
  UserExists,
  UserNotFound,
} from '#modules/users/users.errors';
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

/** The people of a tenant. */
export const usersModule = defineModule({
  name: 'users',
  description: 'The people of a tenant',
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
      summary: 'Users of the tenant by name, with search and filters',
      access: access.permission('users.read', 'users.read'),
      schema: { query: schemas.ListUsersQuery, response: { 200: schemas.UserPage } },
      tool: {
        toolset: 'people',
        description: 'Lists the people of the tenant by name, with search and filters.',
      },
      handler: ({ db, query, setHeader }) => listUsers({ db, setHeader }, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/users',
      operationId: 'createUser',
      summary: 'Make a new person a user of the tenant, or invite one who has an account',
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
      summary: 'Invite a person by mail, with groups that hold nothing the caller does not hold',
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
      summary: 'Mail the link of an open invitation again; the older one ends',
      access: access.permission('users.manage'),
      schema: { params: IdParams, response: { 200: schemas.UserAnswer } },
      errors: [UserNotFound, NotInvited, RoleAboveOwn, TooManyInvitations],
      audit: 'user.invitation_sent',
      handler: ({ actor, db, params, services }) => resendInvitation({ db, actor, services }, params.id),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/users/{id}',
      operationId: 'getUser',
      summary: 'One user',
      access: access.permission('users.read', 'users.read'),
      schema: { params: IdParams, response: { 200: schemas.UserAnswer } },
      errors: [UserNotFound],
      tool: {
        toolset: 'people',
        description: 'One person of the tenant by the id, with the groups that they are in.',
      },
      handler: ({ db, params }) => getUser(db, params.id),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/secure/users/{id}',
      operationId: 'updateUser',
      summary: 'Change a user; suspending and demoting act at once',
      access: access.permission('users.manage'),
      schema: { params: IdParams, body: schemas.UpdateUserBody, response: { 200: schemas.UserAnswer } },
      errors: [UserNotFound, LastAdministrator, RoleAboveOwn, BootstrapOnly, NotJoinedYet, LocaleNotOffered],
      audit: 'user.updated',
      handler: ({ actor, body, db, params, services }) => updateUser({ db, actor, services }, params.id, body),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/secure/users/{id}',
      operationId: 'deleteUser',
      summary: 'Remove a user from the tenant; the account and other tenants stay',
      access: access.permission('users.manage'),
      schema: { params: IdParams, response: { 204: null } },
      errors: [UserNotFound, LastAdministrator, RoleAboveOwn],
      audit: 'user.deleted',
      handler: ({ actor, db, params, services }) => deleteUser({ db, actor, services }, params.id),
    }),
  ],
});
