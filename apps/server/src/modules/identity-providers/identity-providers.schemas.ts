import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, listOf, nullable } from '#core/base/schemas';
import { providerIds } from '#modules/identity-providers/providers/provider';

const ProviderName = Type.Enum(providerIds, { description: 'Identity provider.' });

/** Redirect and issuer addresses: https, or http on the same machine. */
const SecureUri = Type.String({ format: 'secure-uri', maxLength: 2000 });
const CodeChallenge = Type.String({
  pattern: '^[A-Za-z0-9_-]{43}$',
  description: 'SHA-256 hash of the `code_verifier` in base64url (RFC 7636).',
});
const CodeVerifier = Type.String({
  minLength: 43,
  maxLength: 128,
  pattern: '^[A-Za-z0-9._~-]{43,128}$',
  description: 'Secret whose hash was the `code_challenge` (RFC 7636).',
});
const RedirectUri = Type.String({
  minLength: 1,
  maxLength: 2000,
  description: 'Address of the application that gets the result; one of the configured `redirect_uris`.',
});
const AppState = Type.String({
  maxLength: 500,
  description: 'Value of the application, returned unchanged with the result.',
});

// ---------------------------------------------------------------- providers for a login page

const IdentityProvider = closed(
  {
    id: ProviderName,
    name: Type.String(),
    enabled: Type.Boolean({ description: 'Whether users can log in with it.' }),
    icon: Type.String({ description: 'Name of the icon; the same as the identifier.' }),
    capabilities: closed(
      {
        server_callback: Type.Boolean({
          description: 'Whether the provider returns to a callback address of the service.',
        }),
        id_token: Type.Boolean({ description: 'Whether the provider issues OpenID Connect ID tokens.' }),
        pkce: Type.Boolean({ description: 'Whether the provider supports PKCE (RFC 7636).' }),
        refresh: Type.Boolean({ description: 'Whether the provider issues refresh tokens.' }),
        account_linking: Type.Boolean({ description: 'Whether users can link its identities to their accounts.' }),
      },
      { description: 'Features of the provider.' },
    ),
  },
  { title: 'IdentityProvider' },
);
export const IdentityProviders = listOf(IdentityProvider);
export const ProvidersQuery = Type.Object({
  tenantId: Type.Optional(
    Type.With(Uuid, { description: 'Tenant whose login page shows the providers; by default the installation.' }),
  ),
});

// ---------------------------------------------------------------- configuration

export const ProviderParams = closed({ provider: ProviderName });
export const TenantProviderParams = closed({
  provider: ProviderName,
  tenantId: Type.With(Uuid, { description: 'Tenant that configured the provider.' }),
});

const Settings = closed({
  team_id: Type.Optional(Type.String({ pattern: '^[A-Z0-9]{10}$', description: 'Developer team; only for Apple.' })),
  key_id: Type.Optional(
    Type.String({
      pattern: '^[A-Z0-9]{10}$',
      description: 'Identifier of the private key in `client_secret`; only for Apple.',
    }),
  ),
  directory_id: Type.Optional(
    Type.String({
      format: 'uuid',
      description: 'Directory (Microsoft tenant) whose users can log in; only for Microsoft.',
    }),
  ),
});

export const SaveRegistrationBody = closed({
  client_id: Type.String({
    maxLength: 255,
    pattern: '^[!-~]{1,255}$',
    description: 'Client identifier that the provider assigned.',
  }),
  client_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4000,
      description:
        'Client secret, for Apple the private key in PEM. No answer shows it; without it the stored one stays.',
    }),
  ),
  enabled: Type.Boolean(),
  redirect_uris: Type.Array(SecureUri, {
    minItems: 1,
    maxItems: 20,
    uniqueItems: true,
    description: 'Addresses that a login may return to; compared exactly.',
  }),
  issuer: Type.Optional(
    Type.With(
      nullable(Type.String({ format: 'secure-uri', maxLength: 500, pattern: '^(?!.*/\\.well-known/)[^?]*$' })),
      { description: 'Issuer of a compatible server, such as an enterprise one; null for the public provider.' },
    ),
  ),
  settings: Type.Optional(Settings),
});
export type SaveRegistrationBody = Static<typeof SaveRegistrationBody>;

const Registration = closed(
  {
    id: Type.With(nullable(Uuid), { description: 'Identifier of the configuration; null if it is not configured.' }),
    provider: ProviderName,
    name: Type.String(),
    configured: Type.Boolean({ description: 'Whether the tenant has configured the provider.' }),
    enabled: Type.Boolean({ description: 'Whether users can log in with it.' }),
    client_id: Type.With(nullable(Type.String()), {
      description: 'Client identifier that the provider assigned; null if it is not configured.',
    }),
    issuer: Type.With(nullable(Type.String()), {
      description: 'Issuer of a compatible server; null for the public provider.',
    }),
    redirect_uris: Type.Array(Type.String(), { description: 'Addresses that a login may return to.' }),
    settings: Settings,
    callback_url: Type.String({ description: 'Redirect address to register with the provider.' }),
    created_at: Type.With(nullable(Timestamp), {
      description: 'Creation time (RFC 3339, UTC); null if it is not configured.',
    }),
    updated_at: Type.With(nullable(Timestamp), {
      description: 'Time of the latest change (RFC 3339, UTC); null if it is not configured.',
    }),
  },
  { title: 'IdentityProviderRegistration' },
);
export const RegistrationAnswer = dataOf(Registration);
export const Registrations = listOf(Registration);

// ---------------------------------------------------------------- logging in

export const StartQuery = Type.Object({
  tenantId: Type.Optional(
    Type.With(Uuid, { description: 'Tenant to log in to; without it the provider of the installation is used.' }),
  ),
  redirect_uri: RedirectUri,
  state: Type.Optional(AppState),
  code_challenge: CodeChallenge,
  code_challenge_method: Type.Enum(['S256'], { description: 'Hash method of the `code_challenge` (RFC 7636).' }),
});
export type StartQuery = Static<typeof StartQuery>;

/** Authorization response of a provider (RFC 6749 section 4.1.2, RFC 9207); other parameters are ignored. */
export const CallbackParameters = Type.Object({
  state: Type.String({ minLength: 1, maxLength: 200, description: 'State that the service sent to the provider.' }),
  code: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4096, description: 'Authorization code of the provider.' }),
  ),
  iss: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'Issuer of the answer (RFC 9207).' })),
  error: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Error code of the provider (RFC 6749).' }),
  ),
});
export type CallbackParameters = Static<typeof CallbackParameters>;

export const CodeBody = closed({
  code: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Code from the redirect to the application; valid once.',
  }),
  code_verifier: CodeVerifier,
});
export type CodeBody = Static<typeof CodeBody>;

// ---------------------------------------------------------------- identities of the caller

const Identity = closed(
  {
    id: Uuid,
    provider: ProviderName,
    email: Type.With(nullable(Type.String()), {
      description: 'E-mail address that the provider sent at the latest login; null if it sent none.',
    }),
    tenantId: Type.With(nullable(Uuid), {
      description: 'Tenant that configured the provider and that the identity logs in to; null for every tenant.',
    }),
    created_at: Timestamp,
    last_used_at: nullable(Timestamp),
  },
  { title: 'Identity', description: 'Link between an account and its identity at a provider.' },
);
export const IdentityAnswer = dataOf(Identity);
export const Identities = listOf(Identity);

export const LinkBody = closed({
  redirect_uri: RedirectUri,
  state: Type.Optional(AppState),
  code_challenge: CodeChallenge,
});
export type LinkBody = Static<typeof LinkBody>;
export const LinkAnswer = dataOf(
  closed({ authorization_url: Type.String({ description: 'Address to send the browser to.' }) }),
);
