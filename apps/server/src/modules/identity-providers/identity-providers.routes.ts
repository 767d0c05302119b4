import { access } from '#core/base/access/access';
import { systemTenantId } from '#core/base/access/principal';
import { AssuranceLimitedToTenant } from '#core/base/errors/common-errors';
import { IdParams } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import { LoginAnswer } from '#modules/auth/index';
import {
  beginLink,
  confirmLink,
  listIdentities,
  unlinkIdentity,
} from '#modules/identity-providers/identities/identities.service';
import * as errors from '#modules/identity-providers/identity-providers.errors';
import * as schemas from '#modules/identity-providers/identity-providers.schemas';
import { exchangeCode } from '#modules/identity-providers/logins/exchange.service';
import { finishLogin, startLogin } from '#modules/identity-providers/logins/logins.service';
import {
  deleteRegistration,
  getRegistration,
  listRegistrations,
  saveRegistration,
} from '#modules/identity-providers/registrations/registrations.service';
import { listIdentityProviders } from '#modules/identity-providers/registrations/usable';

const loginBegins = access.public('a login starts without a session');
const providerReturns = access.public('the state that the provider sends back is the credential');
const returning = 'Complete a provider login and redirect to the application';
const codeIsRecorded = { none: 'the outcome of the login is recorded when its code is exchanged' };

/** Configuration of providers by tenants, and by the installation for all tenants. */
const registrationRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/identity-providers',
    operationId: 'listIdentityProviderRegistrations',
    summary: 'List identity providers and their configuration',
    access: access.tenantAdmin(),
    schema: { response: { 200: schemas.Registrations } },
    handler: ({ db, services }) => listRegistrations({ db, services }),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/identity-providers/{provider}',
    operationId: 'getIdentityProviderRegistration',
    summary: 'Get the configuration of an identity provider',
    access: access.tenantAdmin(),
    schema: { params: schemas.ProviderParams, response: { 200: schemas.RegistrationAnswer } },
    errors: [errors.ProviderNotConfigured],
    handler: ({ db, params, services }) => getRegistration({ db, services }, params.provider),
  }),
  defineRoute({
    method: 'PUT',
    path: '/api/v1/secure/identity-providers/{provider}',
    operationId: 'saveIdentityProviderRegistration',
    summary: 'Create or replace the configuration of an identity provider',
    access: access.tenantAdmin(),
    schema: {
      params: schemas.ProviderParams,
      body: schemas.SaveRegistrationBody,
      response: { 200: schemas.RegistrationAnswer },
    },
    errors: [errors.SecretMissing, errors.IssuerNotAllowed, errors.SettingsRefused, errors.SigningKeyRefused],
    audit: 'identity_provider.configured',
    handler: ({ actor, body, db, params, services }) =>
      saveRegistration({ db, actor, services }, params.provider, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/secure/identity-providers/{provider}',
    operationId: 'deleteIdentityProviderRegistration',
    summary: 'Delete the configuration of an identity provider; the one of the installation then applies',
    access: access.tenantAdmin(),
    schema: { params: schemas.ProviderParams, response: { 204: null } },
    errors: [errors.ProviderNotConfigured],
    audit: 'identity_provider.deleted',
    handler: ({ actor, db, params, services }) => deleteRegistration({ db, actor, services }, params.provider),
  }),
];

const loginRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/public/auth/providers',
    operationId: 'listIdentityProviders',
    summary: 'List identity providers for a login page',
    access: access.public('a login page shows them before the login'),
    schema: { query: schemas.ProvidersQuery, response: { 200: schemas.IdentityProviders } },
    handler: ({ query, services }) => listIdentityProviders(services, query.tenantId),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/public/auth/oauth/{provider}/start',
    operationId: 'startProviderLogin',
    summary: 'Start a login by redirecting the browser to an identity provider',
    access: loginBegins,
    schema: { params: schemas.ProviderParams, query: schemas.StartQuery, response: { 302: null } },
    errors: [errors.ProviderNotAvailable, errors.RedirectRefused, errors.TooManyLogins],
    handler: ({ params, query, request, services }) => startLogin(services, params.provider, query, request),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/public/auth/oauth/{provider}/callback',
    operationId: 'finishProviderLogin',
    summary: returning,
    access: providerReturns,
    schema: { params: schemas.ProviderParams, query: schemas.CallbackParameters, response: { 302: null } },
    errors: [errors.FlowUnusable],
    handler: ({ params: { provider }, query, request, services }) =>
      finishLogin(services, { provider, configuredBy: systemTenantId }, query, request),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/oauth/{provider}/callback',
    operationId: 'finishProviderLoginByForm',
    summary: `${returning}, for providers that use POST`,
    access: providerReturns,
    schema: { params: schemas.ProviderParams, form: schemas.CallbackParameters, response: { 302: null } },
    errors: [errors.FlowUnusable],
    audit: codeIsRecorded,
    handler: ({ params: { provider }, form, request, services }) =>
      finishLogin(services, { provider, configuredBy: systemTenantId }, form, request),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/public/auth/oauth/{provider}/{tenantId}/callback',
    operationId: 'finishTenantProviderLogin',
    summary: `${returning}, for a provider of a tenant`,
    access: providerReturns,
    schema: { params: schemas.TenantProviderParams, query: schemas.CallbackParameters, response: { 302: null } },
    errors: [errors.FlowUnusable],
    handler: ({ params: { provider, tenantId }, query, request, services }) =>
      finishLogin(services, { provider, configuredBy: tenantId }, query, request),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/oauth/{provider}/{tenantId}/callback',
    operationId: 'finishTenantProviderLoginByForm',
    summary: `${returning}, for a provider of a tenant that uses POST`,
    access: providerReturns,
    schema: { params: schemas.TenantProviderParams, form: schemas.CallbackParameters, response: { 302: null } },
    errors: [errors.FlowUnusable],
    audit: codeIsRecorded,
    handler: ({ params: { provider, tenantId }, form, request, services }) =>
      finishLogin(services, { provider, configuredBy: tenantId }, form, request),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/public/auth/oauth/exchange',
    operationId: 'exchangeProviderCode',
    summary: 'Exchange the code of a provider login for a session or a tenant selection',
    access: loginBegins,
    schema: { body: schemas.CodeBody, response: { 200: LoginAnswer } },
    errors: [errors.CodeRefused],
    audit: 'auth.login',
    handler: ({ body, request, services }) => exchangeCode(services, body, request),
  }),
];

const identityRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/auth/identities',
    operationId: 'listOwnIdentities',
    summary: 'List the identities that are linked to your account',
    access: access.person(),
    schema: { response: { 200: schemas.Identities } },
    handler: ({ actor, services }) => listIdentities(services, actor),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/auth/identities/{provider}/link',
    operationId: 'beginIdentityLink',
    summary: 'Start the link of an identity to your account',
    access: access.person(),
    schema: { params: schemas.ProviderParams, body: schemas.LinkBody, response: { 200: schemas.LinkAnswer } },
    errors: [errors.ProviderNotAvailable, errors.RedirectRefused, errors.ProviderFailed],
    audit: { none: 'the identity is linked when its code is confirmed, and that is recorded' },
    handler: ({ actor, body, params, services }) => beginLink(services, actor, params.provider, body),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/auth/identities',
    operationId: 'linkIdentity',
    summary: 'Link the identity of a code to your account',
    access: access.person(),
    schema: { body: schemas.CodeBody, response: { 201: schemas.IdentityAnswer } },
    errors: [errors.LinkRefused, errors.IdentityTaken, AssuranceLimitedToTenant],
    audit: 'auth.identity_linked',
    handler: ({ actor, body, services }) => confirmLink(services, actor, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/auth/identities/{id}',
    operationId: 'unlinkIdentity',
    summary: 'Unlink an identity from your account',
    access: access.person(),
    schema: { params: IdParams, response: { 204: null } },
    errors: [errors.IdentityNotFound, errors.LastLoginMethod, AssuranceLimitedToTenant],
    audit: 'auth.identity_unlinked',
    handler: ({ actor, params, services }) => unlinkIdentity(services, actor, params.id),
  }),
];

export const identityProviderRoutes: readonly Route[] = [...loginRoutes, ...registrationRoutes, ...identityRoutes];
