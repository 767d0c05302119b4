import { access } from '#core/access/access';
import { systemTenantId } from '#core/access/principal';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
import { LoginAnswer } from '#modules/auth/index';
import * as errors from '#modules/identity-providers/identity-providers.errors';
import * as schemas from '#modules/identity-providers/identity-providers.schemas';
import {
  beginLink,
  confirmLink,
  listIdentities,
  unlinkIdentity,
} from '#modules/identity-providers/identities/identities.service';
import { exchangeCode } from '#modules/identity-providers/logins/exchange.service';
import { finishLogin, startLogin } from '#modules/identity-providers/logins/logins.service';
import {
  deleteRegistration,
  getRegistration,
  listRegistrations,
  saveRegistration,
} from '#modules/identity-providers/registrations/registrations.service';
import { listIdentityProviders } from '#modules/identity-providers/registrations/usable';

const loginBegins = access.public('this is how a session begins');
const providerReturns = access.public('the state that the provider sends back is the credential');
const returning = 'Where the provider sends the browser back to; it goes on to the application';
const codeIsRecorded = { none: 'what comes of the login is recorded when its code is exchanged' };

/** What people log in with, configured by their tenant or for all. */
const registrationRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/identity-providers',
    operationId: 'listIdentityProviderRegistrations',
    summary: 'All identity providers and how they are configured here',
    access: access.tenantAdmin(),
    schema: { response: { 200: schemas.Registrations } },
    handler: ({ db, services }) => listRegistrations({ db, services }),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/identity-providers/{provider}',
    operationId: 'getIdentityProviderRegistration',
    summary: 'How one identity provider is configured here',
    access: access.tenantAdmin(),
    schema: { params: schemas.ProviderParams, response: { 200: schemas.RegistrationAnswer } },
    errors: [errors.ProviderNotConfigured],
    handler: ({ db, params, services }) => getRegistration({ db, services }, params.provider),
  }),
  defineRoute({
    method: 'PUT',
    path: '/api/v1/secure/identity-providers/{provider}',
    operationId: 'saveIdentityProviderRegistration',
    summary: 'Configure an identity provider, instead of what was configured before',
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
    summary: 'Forget an identity provider; that of the installation serves the tenant again, if there is one',
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
    summary: 'Identity providers and whether they can be used',
    access: access.public('a login page shows them before anybody is known'),
    schema: { query: schemas.ProvidersQuery, response: { 200: schemas.IdentityProviders } },
    handler: ({ query, services }) => listIdentityProviders(services, query.tenantId),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/public/auth/oauth/{provider}/start',
    operationId: 'startProviderLogin',
    summary: 'Send the browser to an identity provider to log in',
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
    summary: `${returning}, for providers that post`,
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
    summary: `${returning}, for the registration of a tenant`,
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
    summary: `${returning}, for the registration of a tenant and providers that post`,
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
    summary: 'Turn the code of a finished login, once, into a session or the choice of a tenant',
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
    summary: 'Identities at providers that the own account is linked to',
    access: access.person(),
    schema: { response: { 200: schemas.Identities } },
    handler: ({ actor, services }) => listIdentities(services, actor),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/auth/identities/{provider}/link',
    operationId: 'beginIdentityLink',
    summary: 'Where to send the browser to link an identity to the own account',
    access: access.person(),
    schema: { params: schemas.ProviderParams, body: schemas.LinkBody, response: { 200: schemas.LinkAnswer } },
    errors: [errors.ProviderNotAvailable, errors.RedirectRefused, errors.ProviderFailed],
    audit: { none: 'nothing is linked before the code that comes back is confirmed' },
    handler: ({ actor, body, params, services }) => beginLink(services, actor, params.provider, body),
  }),
  defineRoute({
    method: 'POST',
    path: '/api/v1/auth/identities',
    operationId: 'linkIdentity',
    summary: 'Link the identity that a code stands for to the own account; linking again is safe',
    access: access.person(),
    schema: { body: schemas.CodeBody, response: { 201: schemas.IdentityAnswer } },
    errors: [errors.LinkRefused, errors.IdentityTaken],
    audit: 'auth.identity_linked',
    handler: ({ actor, body, services }) => confirmLink(services, actor, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api/v1/auth/identities/{id}',
    operationId: 'unlinkIdentity',
    summary: 'Take an identity off the own account',
    access: access.person(),
    schema: { params: IdParams, response: { 204: null } },
    errors: [errors.IdentityNotFound, errors.LastWayIn],
    audit: 'auth.identity_unlinked',
    handler: ({ actor, params, services }) => unlinkIdentity(services, actor, params.id),
  }),
];

export const identityProviderRoutes: readonly Route[] = [...loginRoutes, ...registrationRoutes, ...identityRoutes];
