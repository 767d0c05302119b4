import { access } from '#core/access/access';
import { defineModule, defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import { LastAdministrator, NotJoinedYet, RoleAboveOwn, UserExists, UserNotFound } from '#modules/users/users.errors';
import * as schemas from '#modules/users/users.schemas';
import { createUser, deleteUser, getUser, listUsers, updateUser } from '#modules/users/users.service';

/** The people of a tenant. */
export const usersModule = defineModule({
  name: 'users',
  description: 'The people of a tenant',
  constraints: { users_account_key: UserExists, memberships_pkey: UserExists },
  routes: [
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/users',
      operationId: 'listUsers',
      summary: 'Users of the tenant by name, with search and filters',
      access: access.permission('users.read'),
      schema: { query: schemas.ListUsersQuery, response: { 200: schemas.UserPage } },
      handler: ({ db, query, setHeader }) => listUsers({ db, setHeader }, query),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/secure/users',
      operationId: 'createUser',
      summary: 'Make a person a user of the tenant, or invite one whose address is not proven',
      access: access.permission('users.manage'),
      schema: { body: schemas.CreateUserBody, response: { 201: schemas.UserAnswer } },
      errors: [UserExists, RoleAboveOwn],
      audit: 'user.created',
      handler: ({ actor, body, db, services }) => createUser({ db, actor, services }, body),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/secure/users/{id}',
      operationId: 'getUser',
      summary: 'One user',
      access: access.permission('users.read'),
      schema: { params: IdParams, response: { 200: schemas.UserAnswer } },
      errors: [UserNotFound],
      handler: ({ db, params }) => getUser(db, params.id),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/secure/users/{id}',
      operationId: 'updateUser',
      summary: 'Change a user; suspending and demoting act at once',
      access: access.permission('users.manage'),
      schema: { params: IdParams, body: schemas.UpdateUserBody, response: { 200: schemas.UserAnswer } },
      errors: [UserNotFound, LastAdministrator, RoleAboveOwn, NotJoinedYet],
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
