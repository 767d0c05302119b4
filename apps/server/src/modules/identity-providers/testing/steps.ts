import { expect } from 'vitest';

import type { ProviderId } from '#modules/identity-providers/providers/provider';
import { createBrowser, createPkce, type Arrival } from '#modules/identity-providers/testing/browser';
import type { Answer, TestService } from '#test/support/harness';

export const app = 'https://app.example.com/login/done';
export const registrations = '/api/v1/secure/identity-providers';
export const publicAuth = '/api/v1/public/auth';
export const identities = '/api/v1/auth/identities';

/** Environment of a service that may call the providers of its tests. */
export const openLoopback = { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' };

/** The callback address of the registration in the tenant of the token. */
export async function callbackOf(test: TestService, token: string, provider: ProviderId): Promise<string> {
  const answer = await test.call('GET', registrations, { token });
  expect(answer.status).toBe(200);
  return answer.body.data.find((entry: { provider: string }) => entry.provider === provider).callback_url;
}

export async function configure(
  test: TestService,
  token: string,
  provider: ProviderId,
  configuration: { client_id: string; client_secret: string } & Record<string, unknown>,
): Promise<void> {
  const body = { enabled: true, redirect_uris: [app], ...configuration };
  const answer = await test.call('PUT', `${registrations}/${provider}`, { token, body });
  expect(answer).toMatchObject({ status: 200 });
}

export type Start = {
  provider?: ProviderId;
  tenantId?: string | undefined;
  redirect_uri?: string;
  state?: string;
  challenge: string;
};

export function startUrl(test: TestService, start: Start): string {
  const { provider = 'google', tenantId, redirect_uri = app, state, challenge } = start;
  const query = new URLSearchParams({
    redirect_uri,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...(tenantId === undefined ? {} : { tenantId }),
    ...(state === undefined ? {} : { state }),
  });
  return `${test.service.services.settings.publicUrl}${publicAuth}/oauth/${provider}/start?${query.toString()}`;
}

export type Attempted = { arrival: Arrival; verifier: string };

/** Follows a login from the application to the end of its redirects. */
export async function attemptLogin(
  test: TestService,
  person: string | undefined,
  start: Omit<Start, 'challenge'> = {},
): Promise<Attempted> {
  const { verifier, challenge } = createPkce();
  const arrival = await createBrowser(test, person).visit(startUrl(test, { ...start, challenge }));
  return { arrival, verifier };
}

export function exchange(test: TestService, code: string, verifier: string): Promise<Answer> {
  return test.call('POST', `${publicAuth}/oauth/exchange`, { body: { code, code_verifier: verifier } });
}

/** The same, with the exchange: returns its answer. */
export async function logInThrough(
  test: TestService,
  person: string,
  start: Omit<Start, 'challenge'> = {},
): Promise<Answer> {
  const { arrival, verifier } = await attemptLogin(test, person, start);
  const code = arrival.url.searchParams.get('code');
  expect({ at: arrival.url.href, code }).toEqual({ at: arrival.url.href, code: expect.any(String) });
  return exchange(test, code!, verifier);
}

/** The error that the application got instead of a code. */
export function refusalOf({ arrival }: Pick<Attempted, 'arrival'>): string | null {
  expect(arrival.url.searchParams.get('code')).toBeNull();
  return arrival.url.searchParams.get('error');
}

/** Links an identity of the user at the provider to the account of the token. */
export async function link(
  test: TestService,
  token: string,
  { person, provider = 'google' }: { person: string; provider?: ProviderId },
): Promise<Answer> {
  const { verifier, challenge } = createPkce();
  const begun = await test.call('POST', `${identities}/${provider}/link`, {
    token,
    body: { redirect_uri: app, code_challenge: challenge },
  });
  expect(begun.status).toBe(200);
  const arrival = await createBrowser(test, person).visit(begun.body.data.authorization_url);
  const code = arrival.url.searchParams.get('code');
  expect(code).toEqual(expect.any(String));
  return test.call('POST', identities, { token, body: { code, code_verifier: verifier } });
}
