import { apple } from '#modules/identity-providers/providers/apple';
import { facebook } from '#modules/identity-providers/providers/facebook';
import { github } from '#modules/identity-providers/providers/github';
import { createOpenIdProvider } from '#modules/identity-providers/providers/openid';
import type { Provider, ProviderId } from '#modules/identity-providers/providers/provider';

const google = createOpenIdProvider({
  issuer: (client) => client.issuer ?? 'https://accounts.google.com',
  scope: 'openid email',
  email: (claims) => claims.email,
  isEmailVerified: (claims) => claims.email_verified === true,
});

const microsoft = createOpenIdProvider({
  issuer: (client) => client.issuer ?? `https://login.microsoftonline.com/${client.settings.directory_id}/v2.0`,
  scope: 'openid profile email',
  email: (claims) => claims.email ?? claims.preferred_username ?? null,
  // Administrators of a directory can set any address there; only the optional claim confirms the owner of the domain.
  isEmailVerified: (claims) => claims.xms_edov === true && claims.email !== undefined,
});

/** The five providers of the specification and their protocols. */
export const providers: Readonly<Record<ProviderId, Provider>> = { google, apple, microsoft, github, facebook };

type Description = { name: string; capabilities: { id_token: boolean; pkce: boolean; refresh: boolean } };

/** Capabilities that each provider documents: GitHub and Facebook have no OpenID Connect ID token for web logins. */
export const descriptions: Readonly<Record<ProviderId, Description>> = {
  google: { name: 'Google', capabilities: { id_token: true, pkce: true, refresh: true } },
  apple: { name: 'Apple', capabilities: { id_token: true, pkce: true, refresh: true } },
  microsoft: { name: 'Microsoft', capabilities: { id_token: true, pkce: true, refresh: true } },
  github: { name: 'GitHub', capabilities: { id_token: false, pkce: true, refresh: false } },
  facebook: { name: 'Facebook', capabilities: { id_token: false, pkce: true, refresh: false } },
};
