import type { CustomFetch } from 'openid-client';

export const providerIds = ['google', 'apple', 'microsoft', 'github', 'facebook'] as const;
export type ProviderId = (typeof providerIds)[number];

/** Settings that some providers need in addition to the client. */
export type ProviderSettings = { team_id?: string; key_id?: string; directory_id?: string };

/** The client of this installation at one provider. */
export type Client = {
  clientId: string;
  /** Decrypted for one conversation; for Apple, the private key that signs a client secret. */
  clientSecret: string;
  /** Issuer of a compatible server, such as an enterprise one. */
  issuer: string | null;
  settings: ProviderSettings;
};

/** Values that are created for one login and must return with it. */
export type Challenge = { callbackUrl: string; state: string; nonce: string; verifier: string };

/** The authorization response of the provider. */
export type AuthorizationResponse = { code: string; iss: string | undefined };

/** `fetch` can only call the provider. */
export type Conversation = { client: Client; challenge: Challenge; fetch: CustomFetch; now: Date };

/**
 * The authenticated user of the provider. The subject includes its issuer, because another issuer may use the same
 * number for another user.
 */
export type ProviderUser = { subject: string; email: string | null; isEmailVerified: boolean };

/** An external identity provider: authorization code with PKCE, over any protocol. */
export type Provider = {
  /** The address to which the browser is sent for the login. */
  authorizationUrl(conversation: Conversation): Promise<URL>;
  /** Redeems the code and verifies the complete answer. @throws any error of the answer */
  identify(conversation: Conversation, response: AuthorizationResponse): Promise<ProviderUser>;
};
