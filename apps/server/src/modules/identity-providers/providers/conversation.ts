import {
  ClientSecretPost,
  Configuration,
  allowInsecureRequests,
  customFetch,
  fetchProtectedResource,
  type CustomFetch,
  type ServerMetadata,
} from 'openid-client';

import { sha256 } from '#core/base/crypto/secrets';
import { isStorableText } from '#core/http/json';
import type { Outbound } from '#core/platform/outbound/outbound';
import type { AuthorizationResponse, Challenge, Conversation } from '#modules/identity-providers/providers/provider';

/** Timeouts of one call and of all calls of one login, which are shorter than the deadline of a request. */
export const callSeconds = 4;
const conversationMs = 10_000;

const maxSubjectLength = 255;

/** The only path to a provider: guarded outbound calls within one deadline. */
export function openLine(outbound: Outbound): CustomFetch {
  const deadline = AbortSignal.timeout(conversationMs);
  return (url, { signal, body, headers, method }) =>
    outbound.fetch(url, {
      method,
      headers,
      body,
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
}

/** Configuration of openid-client for this login only. */
export function configure(
  metadata: ServerMetadata,
  { client, fetch }: Conversation,
  clientSecret: string = client.clientSecret,
): Configuration {
  const configuration = new Configuration(metadata, client.clientId, undefined, ClientSecretPost(clientSecret));
  configuration[customFetch] = fetch;
  configuration.timeout = callSeconds;
  if (isPlainHttp(metadata.issuer)) allowInsecureRequests(configuration);
  return configuration;
}

/** Only registrations with a loopback issuer use http; the outbound guard decides whether it may be called. */
export function isPlainHttp(url: string): boolean {
  return new URL(url).protocol === 'http:';
}

/** The parameters of every authorization request (RFC 6749 section 4.1.1, RFC 7636). */
export function authorizationParameters({ callbackUrl, state, verifier }: Challenge, scope: string) {
  return {
    redirect_uri: callbackUrl,
    scope,
    state,
    code_challenge: pkceChallenge(verifier),
    code_challenge_method: 'S256',
  };
}

/** RFC 7636 section 4.2. */
export function pkceChallenge(verifier: string): string {
  return sha256(verifier).toString('base64url');
}

/** The callback address, as openid-client reads it. */
export function responseUrl({ callbackUrl, state }: Challenge, { code, iss }: AuthorizationResponse): URL {
  const url = new URL(callbackUrl);
  url.searchParams.set('code', code);
  url.searchParams.set('state', state);
  if (iss !== undefined) url.searchParams.set('iss', iss);
  return url;
}

/** @throws Error if the provider names no subject, or an invalid one (OpenID Connect Core section 2) */
export function subjectOf(issuer: string, subject: unknown): string {
  const text = typeof subject === 'number' ? String(subject) : subject;
  if (typeof text !== 'string' || text === '' || text.length > maxSubjectLength || !isStorableText(text))
    throw new Error('the provider named no subject');
  return `${issuer} ${text}`;
}

export function emailOf(value: unknown): string | null {
  return typeof value === 'string' && value.length <= 254 && isStorableText(value) ? value : null;
}

/** A JSON answer for the access token of the user; undefined if the provider refuses it. */
export async function readProtected(configuration: Configuration, accessToken: string, url: string): Promise<unknown> {
  const headers = new Headers({ accept: 'application/json' });
  const answer = await fetchProtectedResource(configuration, accessToken, new URL(url), 'GET', undefined, headers);
  return answer.status === 200 ? await answer.json() : undefined;
}
