import { access } from '#core/base/access/access';
import { AssuranceLimitedToTenant } from '#core/base/errors/common-errors';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import { register } from '#modules/auth/accounts/register.service';
import {
  DomainTaken,
  EmailTaken,
  LoginRefused,
  OneTimeTokenRefused,
  PasswordChanged,
  RefreshRefused,
  RefreshTokenMissing,
  SessionNotFound,
  TooManyFailures,
  TooManyRegistrations,
  WrongPassword,
} from '#modules/auth/auth.errors';
import * as schemas from '#modules/auth/auth.schemas';
import { login, selectTenant } from '#modules/auth/login/login.service';
import { changePassword, forgotPassword, resetPassword } from '#modules/auth/passwords/password.service';
import { refresh } from '#modules/auth/sessions/refresh.service';
import { getCurrentUser, listOwnSessions, logout, revokeSession } from '#modules/auth/sessions/sessions.service';

const publicAuth = access.public('a login starts without a session');

export const authRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/login',
    operationId: 'login',
    summary: 'Log in with e-mail address and password',
    access: publicAuth,
    schema: { body: schemas.LoginBody, response: { 200: schemas.LoginAnswer } },
    errors: [LoginRefused, TooManyFailures],
    audit: 'auth.login',
    handler: ({ body, request, services }) => login(services, body, request),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/select-tenant',
    operationId: 'selectTenant',
    summary: 'Complete a login in one of several tenants',
    access: publicAuth,
    schema: { body: schemas.SelectTenantBody, response: { 200: schemas.LoggedIn } },
    errors: [OneTimeTokenRefused, LoginRefused],
    audit: 'auth.login',
    handler: ({ body, request, services }) => selectTenant(services, body, request),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/register',
    operationId: 'register',
    summary: 'Create a tenant and its first administrator',
    access: access.public('a new tenant has no user yet who could be authenticated'),
    schema: { body: schemas.RegisterBody, response: { 201: schemas.Registered } },
    errors: [EmailTaken, DomainTaken, TooManyRegistrations],
    audit: 'tenant.created',
    handler: ({ body, request, services }) => register(services, body, request),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/refresh',
    operationId: 'refreshTokens',
    summary: 'Exchange a refresh token for new tokens',
    access: access.public('the refresh token is the credential'),
    schema: { body: schemas.RefreshBody, response: { 200: schemas.Refreshed } },
    errors: [RefreshTokenMissing, RefreshRefused],
    audit: { none: 'a refresh changes no record; a replayed token is recorded as a security event' },
    handler: ({ body, request, services }) => {
      if (body.refreshToken === undefined) throw RefreshTokenMissing();
      return refresh(services, body.refreshToken, request);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/logout',
    operationId: 'logout',
    summary: 'Log out of the session of the access token',
    access: access.optional('a second logout also succeeds', { acceptsExpired: true }),
    schema: { query: schemas.LogoutQuery, response: { 200: schemas.Message } },
    audit: 'auth.logout',
    handler: async ({ actor, query, services }) => {
      const { othersContinue } = await logout(services, actor, query.scope);
      const others =
        ' Other sessions continue. To revoke them, log in, verify the second factor if there is one, and repeat the request.';
      return { message: `You are logged out.${othersContinue ? others : ''}` };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/forgot-password',
    operationId: 'forgotPassword',
    summary: 'Request a mail to reset the password',
    access: access.public('a user without the password cannot log in'),
    schema: { body: schemas.ForgotPasswordBody, response: { 200: schemas.Message } },
    errors: [TooManyFailures],
    audit: 'auth.password_reset_requested',
    handler: async ({ body, request, services }) => {
      await forgotPassword(services, body.email, request);
      return { message: 'If the address has an account, a mail with a link has been sent.' };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/reset-password',
    operationId: 'resetPassword',
    summary: 'Reset the password with the token of a mail',
    access: access.public('the mailed token is the credential'),
    schema: { body: schemas.ResetPasswordBody, response: { 200: schemas.Message } },
    errors: [OneTimeTokenRefused],
    audit: 'auth.password_reset',
    handler: async ({ body, request, services }) => {
      await resetPassword(services, body, request);
      return { message: 'The password is set. Log in with it.' };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/auth/me',
    operationId: 'getCurrentUser',
    summary: 'Get the user or app account of the session',
    access: access.session({ missingFactors: 'any' }),
    schema: { query: schemas.CurrentUserQuery, response: { 200: schemas.CurrentUser } },
    handler: ({ actor, query, services }) => getCurrentUser(services, actor, query.include),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/auth/sessions',
    operationId: 'listOwnSessions',
    summary: 'List the active sessions of the caller in this tenant',
    access: access.session(),
    schema: { response: { 200: schemas.Sessions } },
    handler: ({ actor, services }) => listOwnSessions(services, actor),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/auth/sessions/{id}',
    operationId: 'revokeSession',
    summary: 'Revoke a session of the caller',
    access: access.session(),
    schema: { params: IdParams, response: { 204: null } },
    errors: [SessionNotFound],
    audit: 'auth.session_revoked',
    handler: ({ actor, params, services }) => revokeSession(services, actor, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/auth/change-password',
    operationId: 'changePassword',
    summary: 'Change your password and revoke all other sessions',
    access: access.person(),
    schema: { body: schemas.ChangePasswordBody, response: { 200: schemas.Message } },
    errors: [WrongPassword, PasswordChanged, TooManyFailures, AssuranceLimitedToTenant],
    audit: 'auth.password_changed',
    handler: async ({ actor, body, services }) => {
      await changePassword(services, actor, body);
      return { message: 'The password is changed. Your other sessions are revoked.' };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/.well-known/jwks.json',
    operationId: 'getJwkSet',
    summary: 'Get the public keys of access tokens (RFC 7517)',
    access: access.public('public keys are public'),
    schema: { response: { 200: schemas.JwkSet } },
    handler: ({ services }) => services.tokens.publicKeys(),
  }),
];
