import type { IdentityProvider } from '#modules/auth/auth.schemas';

/** The five identity providers of the specification; none is enabled before it is configured. */
export function listIdentityProviders(): { data: IdentityProvider[] } {
  return {
    data: known.map(({ id, name, ...capabilities }) => ({
      id,
      name,
      enabled: false,
      icon: id,
      capabilities: { server_callback: true, account_linking: true, ...capabilities },
    })),
  };
}

// What each provider itself documents: GitHub and Facebook have no OpenID Connect ID token for web logins.
const known = [
  { id: 'google', name: 'Google', id_token: true, pkce: true, refresh: true },
  { id: 'apple', name: 'Apple', id_token: true, pkce: true, refresh: true },
  { id: 'microsoft', name: 'Microsoft', id_token: true, pkce: true, refresh: true },
  { id: 'github', name: 'GitHub', id_token: false, pkce: true, refresh: false },
  { id: 'facebook', name: 'Facebook', id_token: false, pkce: true, refresh: false },
] as const;
