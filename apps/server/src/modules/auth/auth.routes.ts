import { access } from '#core/access/access';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import {
  DomainTaken,
  EmailTaken,
  LoginRefused,
  OneTimeTokenRefused,
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
import { register } from '#modules/auth/accounts/register.service';
import { getCurrentUser, listOwnSessions, logout, revokeSession } from '#modules/auth/sessions/sessions.service';

const publicAuth = access.public('this is how a session begins');

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
    summary: 'Finish a login by choosing one of several tenants',
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
    summary: 'Create a tenant and its first user, who administers it',
    access: access.public('a new tenant has nobody yet who could vouch for it'),
    schema: { body: schemas.RegisterBody, response: { 201: schemas.Registered } },
    errors: [EmailTaken, DomainTaken, TooManyRegistrations],
    audit: 'tenant.created',
    handler: ({ body, request, services }) => register(services, body, request),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/refresh',
    operationId: 'refreshTokens',
    summary: 'Exchange a refresh token, once, for new tokens',
    access: access.public('the refresh token is the credential'),
    schema: { body: schemas.RefreshBody, response: { 200: schemas.Refreshed } },
    errors: [RefreshTokenMissing, RefreshRefused],
    audit: { none: 'a session that goes on is no event; a replayed token is, and is recorded' },
    handler: ({ body, request, services }) => {
      if (body.refreshToken === undefined) throw RefreshTokenMissing();
      return refresh(services, body.refreshToken, request);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/logout',
    operationId: 'logout',
    summary: 'End the session of the presented access token',
    access: access.optional('logging out twice is no error', { acceptsExpired: true }),
    schema: { query: schemas.LogoutQuery, response: { 200: schemas.Message } },
    audit: 'auth.logout',
    handler: async ({ actor, query, services }) => {
      await logout(services, actor, query.scope);
      return { message: 'You are logged out.' };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/forgot-password',
    operationId: 'forgotPassword',
    summary: 'Send a link for a new password, if the address has an account',
    access: access.public('who forgot the password cannot log in'),
    schema: { body: schemas.ForgotPasswordBody, response: { 200: schemas.Message } },
    errors: [TooManyFailures],
    audit: 'auth.password_reset_requested',
    handler: async ({ body, request, services }) => {
      await forgotPassword(services, body.email, request);
      return { message: 'If the address has an account, a mail with a link is on its way.' };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/reset-password',
    operationId: 'resetPassword',
    summary: 'Set a new password with the token of a reset mail',
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
    summary: 'The person or app account behind the session',
    access: access.session({ owing: 'any' }),
    schema: { query: schemas.CurrentUserQuery, response: { 200: schemas.CurrentUser } },
    handler: ({ actor, query, services }) => getCurrentUser(services, actor, query.include),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/auth/sessions',
    operationId: 'listOwnSessions',
    summary: 'The live sessions of the caller in this tenant',
    access: access.session(),
    schema: { response: { 200: schemas.Sessions } },
    handler: ({ actor, services }) => listOwnSessions(services, actor),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/auth/sessions/{id}',
    operationId: 'revokeSession',
    summary: 'End one of the own sessions',
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
    summary: 'Change the own password; all other sessions end',
    access: access.person(),
    schema: { body: schemas.ChangePasswordBody, response: { 200: schemas.Message } },
    errors: [WrongPassword, TooManyFailures],
    audit: 'auth.password_changed',
    handler: async ({ actor, body, services }) => {
      await changePassword(services, actor, body);
      return { message: 'The password is changed. Your other sessions have ended.' };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/.well-known/jwks.json',
    operationId: 'getJwkSet',
    summary: 'Public keys of the access tokens (RFC 7517)',
    access: access.public('public keys are public'),
    schema: { response: { 200: schemas.JwkSet } },
    handler: ({ services }) => services.tokens.publicKeys(),
  }),
];
