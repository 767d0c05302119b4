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

/** Plain OAuth 2 with the Graph API, which does not say whether an address is verified. */
export const facebook: Provider = {
  authorizationUrl: (conversation) =>
    Promise.resolve(
      buildAuthorizationUrl(
        configure(metadataOf(conversation.client), conversation),
        authorizationParameters(conversation.challenge, 'email'),
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
    const profile = await readProtected(configuration, token, `${graphOf(client)}/me?fields=id,email`);
    const { id, email } = (profile ?? {}) as { id?: unknown; email?: unknown };
    return { subject: subjectOf(metadata.issuer, id), email: emailOf(email), isEmailVerified: false };
  },
};

const version = 'v23.0';

// Facebook's own documentation, "Manually Build a Login Flow".
function metadataOf(client: Client): ServerMetadata {
  return {
    issuer: homeOf(client),
    authorization_endpoint: `${homeOf(client)}/${version}/dialog/oauth`,
    token_endpoint: `${graphOf(client)}/oauth/access_token`,
  };
}

function homeOf({ issuer }: Client): string {
  return issuer?.replace(/\/$/, '') ?? 'https://www.facebook.com';
}

function graphOf(client: Client): string {
  return `${client.issuer === null ? 'https://graph.facebook.com' : homeOf(client)}/${version}`;
}
