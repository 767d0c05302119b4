import { authorizationCodeGrant, buildAuthorizationUrl, type ServerMetadata } from 'openid-client';

import {
  authorizationParameters,
  configure,
  emailOf,
  readProtected,
  responseUrl,
  subjectOf,
} from '#modules/identity-providers/providers/conversation';
import type { Client, Provider } from '#modules/identity-providers/providers/provider';

/** Plain OAuth 2 with an API that returns the user; an enterprise server has the same API under other addresses. */
export const github: Provider = {
  authorizationUrl: (conversation) =>
    Promise.resolve(
      buildAuthorizationUrl(
        configure(metadataOf(conversation.client), conversation),
        authorizationParameters(conversation.challenge, 'read:user user:email'),
      ),
    ),
  async identify(conversation, response) {
    const { client, challenge } = conversation;
    const metadata = metadataOf(client);
    const configuration = configure(metadata, conversation);
    const { access_token: token } = await authorizationCodeGrant(configuration, responseUrl(challenge, response), {
      pkceCodeVerifier: challenge.verifier,
      expectedState: challenge.state,
    });
    const api = apiOf(client);
    const user = (await readProtected(configuration, token, `${api}/user`)) as { id?: unknown } | undefined;
    const address = primaryAddress(await readProtected(configuration, token, `${api}/user/emails`));
    return {
      subject: subjectOf(metadata.issuer, user?.id),
      email: emailOf(address?.email),
      isEmailVerified: address?.verified === true,
    };
  },
};

const home = 'https://github.com';

// See GitHub's documentation, "Authorizing OAuth apps"; the issuer is what GitHub sends as `iss` (RFC 9207).
function metadataOf(client: Client): ServerMetadata {
  const login = `${client.issuer?.replace(/\/$/, '') ?? home}/login/oauth`;
  return { issuer: login, authorization_endpoint: `${login}/authorize`, token_endpoint: `${login}/access_token` };
}

function apiOf(client: Client): string {
  return client.issuer === null ? 'https://api.github.com' : `${client.issuer.replace(/\/$/, '')}/api/v3`;
}

type Address = { email?: unknown; primary?: unknown; verified?: unknown };

function primaryAddress(addresses: unknown): Address | undefined {
  return Array.isArray(addresses) ? (addresses as Address[]).find((address) => address?.primary === true) : undefined;
}
