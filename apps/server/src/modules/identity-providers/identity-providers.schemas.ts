import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, listOf, nullable } from '#core/http/schemas';
import { providerIds } from '#modules/identity-providers/providers/provider';

const ProviderName = Type.Enum(providerIds);

/** Where a finished login may be sent, and where a provider may be: nothing but https, and http on the own machine. */
const SecureUri = Type.String({ format: 'secure-uri', maxLength: 2000 });
const CodeChallenge = Type.String({
  pattern: '^[A-Za-z0-9_-]{43}$',
  description: 'SHA-256 of the code_verifier in base64url (RFC 7636): who cannot show the verifier cannot finish.',
});
const CodeVerifier = Type.String({ minLength: 43, maxLength: 128, pattern: '^[A-Za-z0-9._~-]{43,128}$' });
const AppState = Type.String({ maxLength: 500, description: 'Comes back as it was sent.' });

// ---------------------------------------------------------------- what a login page shows

const IdentityProvider = closed(
  {
    id: ProviderName,
    name: Type.String(),
    enabled: Type.Boolean(),
    icon: Type.String(),
    capabilities: closed({
      server_callback: Type.Boolean(),
      id_token: Type.Boolean(),
      pkce: Type.Boolean(),
      refresh: Type.Boolean(),
      account_linking: Type.Boolean(),
    }),
  },
  { title: 'IdentityProvider' },
);
export const IdentityProviders = listOf(IdentityProvider);
export const ProvidersQuery = Type.Object({ tenantId: Type.Optional(Uuid) });

// ---------------------------------------------------------------- configuration

export const ProviderParams = closed({ provider: ProviderName });
export const TenantProviderParams = closed({ provider: ProviderName, tenantId: Uuid });

const Settings = closed({
  team_id: Type.Optional(Type.String({ pattern: '^[A-Z0-9]{10}$', description: 'apple: the developer team' })),
  key_id: Type.Optional(Type.String({ pattern: '^[A-Z0-9]{10}$', description: 'apple: the key of the client_secret' })),
  directory_id: Type.Optional(
    Type.String({ format: 'uuid', description: 'microsoft: the directory (tenant) whose people log in' }),
  ),
});

export const SaveRegistrationBody = closed({
  client_id: Type.String({ maxLength: 255, pattern: '^[!-~]{1,255}$' }),
  client_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4000,
      description: 'Never shown again. Without it the stored one stays. apple: the private key in PEM.',
    }),
  ),
  enabled: Type.Boolean(),
  redirect_uris: Type.Array(SecureUri, {
    minItems: 1,
    maxItems: 20,
    uniqueItems: true,
    description: 'Addresses of the applications, compared letter by letter.',
  }),
  issuer: Type.Optional(
    nullable(
      Type.String({
        format: 'secure-uri',
        maxLength: 500,
        pattern: '^(?!.*/\\.well-known/)[^?]*$',
        description: 'Another server that speaks as this provider does, e.g. an enterprise one.',
      }),
    ),
  ),
  settings: Type.Optional(Settings),
});
export type SaveRegistrationBody = Static<typeof SaveRegistrationBody>;

const Registration = closed(
  {
    id: nullable(Uuid),
    provider: ProviderName,
    name: Type.String(),
    configured: Type.Boolean(),
    enabled: Type.Boolean(),
    client_id: nullable(Type.String()),
    issuer: nullable(Type.String()),
    redirect_uris: Type.Array(Type.String()),
    settings: Settings,
    callback_url: Type.String({ description: 'To be registered with the provider.' }),
    created_at: nullable(Timestamp),
    updated_at: nullable(Timestamp),
  },
  { title: 'IdentityProviderRegistration' },
);
export const RegistrationAnswer = dataOf(Registration);
export const Registrations = listOf(Registration);

// ---------------------------------------------------------------- logging in

export const StartQuery = Type.Object({
  tenantId: Type.Optional(Uuid),
  redirect_uri: Type.String({ minLength: 1, maxLength: 2000 }),
  state: Type.Optional(AppState),
  code_challenge: CodeChallenge,
  code_challenge_method: Type.Enum(['S256']),
});
export type StartQuery = Static<typeof StartQuery>;

/** What a provider sends back (RFC 6749 section 4.1.2, RFC 9207); whatever else it adds is ignored. */
export const CallbackParameters = Type.Object({
  state: Type.String({ minLength: 1, maxLength: 200 }),
  code: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
  iss: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
  error: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
});
export type CallbackParameters = Static<typeof CallbackParameters>;

export const CodeBody = closed({
  code: Type.String({ minLength: 1, maxLength: 200 }),
  code_verifier: CodeVerifier,
});
export type CodeBody = Static<typeof CodeBody>;

// ---------------------------------------------------------------- identities of a person

const Identity = closed(
  {
    id: Uuid,
    provider: ProviderName,
    email: nullable(Type.String({ description: 'As the provider had it at the last login.' })),
    tenantId: nullable(Uuid),
    created_at: Timestamp,
    last_used_at: nullable(Timestamp),
  },
  {
    title: 'Identity',
    description:
      'tenantId: the tenant whose registration vouches for it, for logins there; null: for logins everywhere.',
  },
);
export const IdentityAnswer = dataOf(Identity);
export const Identities = listOf(Identity);

export const LinkBody = closed({
  redirect_uri: Type.String({ minLength: 1, maxLength: 2000 }),
  state: Type.Optional(AppState),
  code_challenge: CodeChallenge,
});
export type LinkBody = Static<typeof LinkBody>;
export const LinkAnswer = dataOf(closed({ authorization_url: Type.String() }));
