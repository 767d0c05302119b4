import { LRUCache } from 'lru-cache';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  getJwksCache,
  setJwksCache,
  type Configuration,
  type ExportedJWKSCache,
  type IDToken,
  type ServerMetadata,
} from 'openid-client';

import {
  authorizationParameters,
  callSeconds,
  configure,
  emailOf,
  isPlainHttp,
  responseUrl,
  subjectOf,
} from '#modules/identity-providers/providers/conversation';
import type { Client, Conversation, Provider } from '#modules/identity-providers/providers/provider';

/** Differences between OpenID Connect providers. */
export type OpenIdProfile = {
  issuer(client: Client): string;
  scope: string;
  /** Further parameters of the authorization request. */
  parameters?: Readonly<Record<string, string>>;
  /** Set if the client secret is created for each conversation. */
  clientSecret?(client: Client, issuer: string, now: Date): Promise<string>;
  email(claims: Claims): unknown;
  isEmailVerified(claims: Claims): boolean;
};

export type Claims = Readonly<Record<string, unknown>>;

type Discovered = { metadata: ServerMetadata; keys: ExportedJWKSCache | undefined };

/** A multiple of what any issuer needs, because metadata of a tenant's issuer is kept in memory. */
const maxDocumentLength = 65_536;

/** Metadata of issuers, cached for ten minutes; failures are not cached. */
const discoveries = new LRUCache<string, Discovered, Conversation>({
  max: 200,
  ttl: 10 * 60_000,
  fetchMethod: async (issuer, _stale, { context: { fetch } }) => {
    const found = await discovery(new URL(issuer), 'unknown', undefined, undefined, {
      [customFetch]: fetch,
      timeout: callSeconds,
      execute: isPlainHttp(issuer) ? [allowInsecureRequests] : [],
    });
    const metadata = found.serverMetadata();
    if (!isModest(metadata)) throw new Error('the discovery document is too large');
    return { metadata, keys: undefined };
  },
});

/** OpenID Connect Core: discovery, code flow with PKCE and nonce, and an ID token with a verified signature. */
export function createOpenIdProvider(profile: OpenIdProfile): Provider {
  return {
    async authorizationUrl(conversation) {
      const { challenge } = conversation;
      const { configuration } = await open(profile, conversation);
      return buildAuthorizationUrl(configuration, {
        ...authorizationParameters(challenge, profile.scope),
        nonce: challenge.nonce,
        ...profile.parameters,
      });
    },
    async identify(conversation, response) {
      const { challenge } = conversation;
      const { configuration, discovered } = await open(profile, conversation);
      // Without this option the signature is not verified: only TLS then protects a token straight from the issuer.
      enableNonRepudiationChecks(configuration);
      const tokens = await authorizationCodeGrant(configuration, responseUrl(challenge, response), {
        pkceCodeVerifier: challenge.verifier,
        expectedState: challenge.state,
        expectedNonce: challenge.nonce,
        idTokenExpected: true,
      });
      const keys = getJwksCache(configuration);
      if (isModest(keys)) discovered.keys = keys;
      const idToken = tokens.claims()!;
      const claims = await withUserInfo(profile, configuration, idToken, tokens.access_token);
      return {
        subject: subjectOf(idToken.iss, idToken.sub),
        email: emailOf(profile.email(claims)),
        isEmailVerified: profile.isEmailVerified(claims),
      };
    },
  };
}

function isModest(document: unknown): boolean {
  return (JSON.stringify(document) ?? '').length <= maxDocumentLength;
}

async function open(profile: OpenIdProfile, conversation: Conversation) {
  const { client, now } = conversation;
  const issuer = profile.issuer(client);
  const discovered = (await discoveries.fetch(issuer, { context: conversation }))!;
  const clientSecret = await profile.clientSecret?.(client, issuer, now);
  const configuration = configure(discovered.metadata, conversation, clientSecret);
  if (discovered.keys !== undefined) setJwksCache(configuration, discovered.keys);
  return { configuration, discovered };
}

/** An issuer may omit the address from the ID token and return it for the access token (Core section 5.4). */
async function withUserInfo(
  profile: OpenIdProfile,
  configuration: Configuration,
  idToken: IDToken,
  accessToken: string,
): Promise<Claims> {
  const isComplete = profile.email(idToken) !== undefined;
  if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return idToken;
  return { ...(await fetchUserInfo(configuration, accessToken, idToken.sub)), ...idToken };
}
