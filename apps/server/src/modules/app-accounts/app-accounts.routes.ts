import { access } from '#core/base/access/access';
import { PermissionsAboveOwn } from '#core/base/errors/common-errors';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import {
  AppAccountEmailTaken,
  AppAccountNotFound,
  AppAccountRevoked,
  ExpiresInThePast,
  TooManyPasswords,
} from '#modules/app-accounts/app-accounts.errors';
import * as schemas from '#modules/app-accounts/app-accounts.schemas';
import {
  createAppAccount,
  deleteAppAccount,
  getAppAccount,
  getUsageStats,
  listAppAccounts,
  regenerateAppAccountPassword,
  setAppAccountPassword,
  updateAppAccount,
} from '#modules/app-accounts/app-accounts.service';

const path = '/api/v1/secure/app-accounts';

const reading = access.permission('app_accounts.read');

const changing = access.permission('app_accounts.manage');

export const appAccountRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path,
    operationId: 'listAppAccounts',
    summary: 'List app accounts of the tenant',
    access: reading,
    schema: { query: schemas.ListAppAccountsQuery, response: { 200: schemas.AppAccountList } },
    handler: ({ db, query }) => listAppAccounts(db, query),
  }),
  defineRoute({
    method: 'POST',
    path,
    operationId: 'createAppAccount',
    summary: 'Create an app account with permissions that the caller holds',
    access: changing,
    schema: { body: schemas.CreateAppAccountBody, response: { 201: schemas.AppAccountAnswer } },
    errors: [AppAccountEmailTaken, ExpiresInThePast, PermissionsAboveOwn],
    audit: 'app_account.created',
    handler: ({ actor, body, db, services }) => createAppAccount({ db, actor, services }, body),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/{id}`,
    operationId: 'getAppAccount',
    summary: 'Get an app account',
    access: reading,
    schema: { params: IdParams, response: { 200: schemas.AppAccountAnswer } },
    errors: [AppAccountNotFound],
    handler: ({ db, params }) => getAppAccount(db, params.id),
  }),
  defineRoute({
    method: 'PATCH',
    path: `${path}/{id}`,
    operationId: 'updateAppAccount',
    summary: 'Update an app account; permissions are merged, and changes take effect at once',
    access: changing,
    schema: { params: IdParams, body: schemas.UpdateAppAccountBody, response: { 200: schemas.AppAccountAnswer } },
    errors: [AppAccountNotFound, PermissionsAboveOwn],
    audit: 'app_account.updated',
    handler: ({ actor, body, db, params, services }) => updateAppAccount({ db, actor, services }, params.id, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${path}/{id}`,
    operationId: 'deleteAppAccount',
    summary: 'Delete an app account and revoke its sessions',
    access: changing,
    schema: { params: IdParams, response: { 204: null } },
    errors: [AppAccountNotFound, PermissionsAboveOwn],
    audit: 'app_account.deleted',
    handler: ({ actor, db, params, services }) => deleteAppAccount({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/{id}/regenerate-password`,
    operationId: 'regenerateAppAccountPassword',
    summary: 'Replace the password by a random one and revoke all sessions',
    access: changing,
    schema: { params: IdParams, response: { 200: schemas.RegeneratedPassword } },
    errors: [AppAccountNotFound, AppAccountRevoked, PermissionsAboveOwn, TooManyPasswords],
    audit: 'app_account.password_regenerated',
    handler: ({ actor, db, params, services }) => regenerateAppAccountPassword({ db, actor, services }, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/{id}/set-password`,
    operationId: 'setAppAccountPassword',
    summary: 'Set the password and revoke all sessions',
    access: changing,
    schema: { params: IdParams, body: schemas.SetAppAccountPasswordBody, response: { 200: schemas.PasswordSet } },
    errors: [AppAccountNotFound, AppAccountRevoked, PermissionsAboveOwn, TooManyPasswords],
    audit: 'app_account.password_set',
    handler: ({ actor, body, db, params, services }) =>
      setAppAccountPassword({ db, actor, services }, params.id, body.password),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/{id}/usage-stats`,
    operationId: 'getAppAccountUsage',
    summary: 'Get the usage of an app account',
    access: reading,
    schema: { params: IdParams, response: { 200: schemas.UsageStats } },
    errors: [AppAccountNotFound],
    handler: ({ db, params, services }) => getUsageStats({ db, now: services.now() }, params.id),
  }),
];
