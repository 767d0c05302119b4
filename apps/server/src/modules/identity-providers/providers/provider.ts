import type { CustomFetch } from 'openid-client';

export const providerIds = ['google', 'apple', 'microsoft', 'github', 'facebook'] as const;
export type ProviderId = (typeof providerIds)[number];

/** What some providers want to know beyond the client. */
export type ProviderSettings = { team_id?: string; key_id?: string; directory_id?: string };

/** This installation as one provider knows it. */
export type Client = {
  clientId: string;
  /** In the clear, for the length of one conversation; Apple's is the private key that signs one. */
  clientSecret: string;
  /** Another place than the provider's own, e.g. an enterprise server. */
  issuer: string | null;
  settings: ProviderSettings;
};

/** What is made anew for one login and has to come back in it. */
export type Challenge = { callbackUrl: string; state: string; nonce: string; verifier: string };

/** What the provider sent back with the browser. */
export type AuthorizationResponse = { code: string; iss: string | undefined };

/** `fetch` leads to the provider and nowhere else. */
export type Conversation = { client: Client; challenge: Challenge; fetch: CustomFetch; now: Date };

/** Whom the provider vouches for. The subject names its issuer: elsewhere the same number is somebody else. */
export type Vouched = { subject: string; email: string | null; isEmailVerified: boolean };

/** One outside identity provider: authorization code with PKCE, whatever it speaks besides. */
export type Provider = {
  /** Where the browser goes to log in. */
  authorizationUrl(conversation: Conversation): Promise<URL>;
  /** Redeems the code and checks everything that came with it. @throws whatever is wrong about it */
  identify(conversation: Conversation, response: AuthorizationResponse): Promise<Vouched>;
};
