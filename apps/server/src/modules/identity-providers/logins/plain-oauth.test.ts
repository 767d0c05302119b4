import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { expectNoSecrets } from '#modules/auth/testing/steps';
import { arrivedWith } from '#modules/identity-providers/testing/browser';
import { startPlainOAuthServer, type PlainOAuthServer } from '#modules/identity-providers/testing/plain-oauth-server';
import {
  attemptLogin,
  configure,
  logInThrough,
  openLoopback,
  refusalOf,
  registrations,
} from '#modules/identity-providers/testing/steps';
import { createMember, createTenant, proveAddress, unique, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ environment: openLoopback });
let server: PlainOAuthServer;
let tenant: Tenant;
let tenantId: string;
let nextId = 1;

beforeAll(async () => {
  server = await startPlainOAuthServer();
  tenant = await createTenant(test);
  ({ tenantId } = tenant);
  for (const provider of ['github', 'facebook'] as const)
    await configure(test, tenant.admin.token, provider, { ...server.client, issuer: server.origin });
});
afterEach(() => server.broken.clear());
afterAll(() => server.close());

/** A user whose address is verified here, and a user at the provider with these addresses. */
async function createKnown(addresses?: (email: string) => { email: string; primary: boolean; verified: boolean }[]) {
  const member = await createMember(test, tenant);
  await proveAddress(test, member.email);
  const name = unique('person');
  const own = [{ email: member.email, primary: true, verified: true }];
  server.members.set(name, { id: nextId++, addresses: addresses?.(member.email) ?? own });
  return { member, name };
}

describe('github', () => {
  const there = () => ({ provider: 'github' as const, tenantId });

  it('gives a session, by the primary address the first time and without it later', async () => {
    const { member, name } = await createKnown();
    const first = await logInThrough(test, name, there());
    expect(first.body.user.id).toBe(member.userId);
    server.members.get(name)!.addresses = [];
    expect((await logInThrough(test, name, there())).body.user.id).toBe(member.userId);
  });

  it('returns the state, and logs no secrets', async () => {
    const { name } = await createKnown();
    const { arrival } = await attemptLogin(test, name, { ...there(), state: 'mine' });
    expect(arrivedWith(arrival).query).toEqual({ code: expect.any(String), state: 'mine' });
    expectNoSecrets(test, [server.client.client_secret, ...server.redeemed]);
  });

  it.each<[string, (email: string) => { email: string; primary: boolean; verified: boolean }[]]>([
    ['an address that is not verified', (email) => [{ email, primary: true, verified: false }]],
    [
      'a verified address that is not the primary one',
      (email) => [
        { email, primary: false, verified: true },
        { email: 'other@example.com', primary: true, verified: true },
      ],
    ],
    ['no address', () => []],
  ])('account_not_linked: %s', async (_what, addresses) => {
    const { name } = await createKnown(addresses);
    expect(refusalOf(await attemptLogin(test, name, there()))).toBe('account_not_linked');
  });

  it('access_denied: the user cancels', async () => {
    expect(refusalOf(await attemptLogin(test, 'unknown', there()))).toBe('access_denied');
  });

  it('an API that does not return the addresses links no account', async () => {
    const { name } = await createKnown();
    server.broken.set('/api/v3/user/emails', { status: 404, body: '{}' });
    expect(refusalOf(await attemptLogin(test, name, there()))).toBe('account_not_linked');
  });

  it.each([
    ['the token', '/login/oauth/access_token', { status: 200, body: '{"error":"bad_verification_code"}' }],
    ['the token', '/login/oauth/access_token', { status: 500, body: '' }],
    ['the person', '/api/v3/user', { status: 401, body: '{}' }],
    ['the person', '/api/v3/user', { status: 200, body: '{"id":null}' }],
    ['the person', '/api/v3/user', { status: 200, body: '{"id":""}' }],
    ['the person', '/api/v3/user', { status: 200, body: '{"id":{"a":1}}' }],
    ['the person', '/api/v3/user', { status: 200, body: `{"id":"${'x'.repeat(256)}"}` }],
    ['the person', '/api/v3/user', { status: 200, body: '[]' }],
    ['the person', '/api/v3/user', { status: 200, body: 'null' }],
    ['the addresses', '/api/v3/user/emails', { status: 200, body: '[null' }],
  ])('provider_failed: it does not give %s: %s %o', async (_what, path, answer) => {
    const { name } = await createKnown();
    server.broken.set(path, answer);
    expect(refusalOf(await attemptLogin(test, name, there()))).toBe('provider_failed');
  });

  it.each(['[null]', '{"email":"a@example.com"}', '[{"email":5,"primary":true,"verified":true}]', '"text"'])(
    'account_not_linked: odd addresses: %s',
    async (body) => {
      const { name } = await createKnown();
      server.broken.set('/api/v3/user/emails', { status: 200, body });
      expect(refusalOf(await attemptLogin(test, name, there()))).toBe('account_not_linked');
    },
  );

  it('the same number at another server is another user', async () => {
    const { member, name } = await createKnown();
    await logInThrough(test, name, there());
    const elsewhere = await startPlainOAuthServer();
    try {
      await configure(test, tenant.admin.token, 'github', { ...elsewhere.client, issuer: elsewhere.origin });
      elsewhere.members.set(name, { id: server.members.get(name)!.id, addresses: [] });
      expect(refusalOf(await attemptLogin(test, name, there()))).toBe('account_not_linked');
      await configure(test, tenant.admin.token, 'github', { ...server.client, issuer: server.origin });
      expect((await logInThrough(test, name, there())).body.user.id).toBe(member.userId);
    } finally {
      await elsewhere.close();
    }
  });
});

describe('facebook', () => {
  const there = () => ({ provider: 'facebook' as const, tenantId });

  it('account_not_linked: the provider never confirms addresses', async () => {
    const { name } = await createKnown();
    expect(refusalOf(await attemptLogin(test, name, there()))).toBe('account_not_linked');
  });

  it('provider_failed: it refuses the code', async () => {
    const { name } = await createKnown();
    server.broken.set('/v23.0/oauth/access_token', { status: 400, body: '{"error":{"message":"x","code":100}}' });
    expect(refusalOf(await attemptLogin(test, name, there()))).toBe('provider_failed');
  });
});

describe('without another address', () => {
  it.each([
    ['github', 'https://github.com/login/oauth/authorize', 'read:user user:email'],
    ['facebook', 'https://www.facebook.com/v23.0/dialog/oauth', 'email'],
  ] as const)('%s is the public one', async (provider, at, scope) => {
    const other = await createTenant(test);
    await configure(test, other.admin.token, provider, { client_id: 'x', client_secret: 'x' });
    const { arrival } = await attemptLogin(test, undefined, { provider, tenantId: other.tenantId });
    expect(arrivedWith(arrival)).toMatchObject({ at, query: { client_id: 'x', scope, response_type: 'code' } });
    await test.call('DELETE', `${registrations}/${provider}`, { token: other.admin.token });
  });
});
