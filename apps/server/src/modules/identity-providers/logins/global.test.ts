import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditOf, createPersonOfTwo, expectNoSecrets, post } from '#modules/auth/testing/steps';
import { createBrowser, createPkce } from '#modules/identity-providers/testing/browser';
import { startOpenIdServer, type OpenIdServer } from '#modules/identity-providers/testing/openid-server';
import {
  attemptLogin,
  callbackOf,
  configure,
  exchange,
  identities,
  link,
  logInThrough,
  openLoopback,
  publicAuth,
  refusalOf,
  registrations,
  startUrl,
} from '#modules/identity-providers/testing/steps';
import {
  createMember,
  createTenant,
  logInSystemAdmin,
  proveAddress,
  unique,
  type Person,
} from '#test/support/factories';
import { expectError, systemAdmin, useService } from '#test/support/harness';

// Tests of other suites would see the configuration of the installation.
const test = useService({ environment: openLoopback, ownDatabase: true });
let server: OpenIdServer;
let root: Person;

beforeAll(async () => {
  server = await startOpenIdServer();
  root = await logInSystemAdmin(test);
  const client = await server.register(await callbackOf(test, root.token, 'google'));
  await configure(test, root.token, 'google', { ...client, issuer: server.issuer });
});
afterAll(() => server.close());

const someone = (email: string) => server.add({ sub: unique('sub'), email, email_verified: true }).sub;

async function createKnown() {
  const tenant = await createTenant(test);
  await proveAddress(test, tenant.admin.email);
  return { tenant, tenantId: tenant.tenantId, person: tenant.admin, sub: someone(tenant.admin.email) };
}

const enabledFor = async (query: string) => {
  const answer = await test.call('GET', `${publicAuth}/providers${query}`);
  return answer.body.data.filter((entry: any) => entry.enabled).map((entry: any) => entry.id);
};

describe('the registration of the installation', () => {
  it('has a callback address without a tenant, and serves all tenants', async () => {
    expect(await callbackOf(test, root.token, 'google')).toBe(
      'http://127.0.0.1:8080/api/v1/public/auth/oauth/google/callback',
    );
    const { tenantId } = await createTenant(test);
    for (const query of ['', `?tenantId=${tenantId}`, `?tenantId=${newId()}`, `?tenantId=${systemTenantId}`])
      expect(await enabledFor(query)).toEqual(['google']);
  });

  it('cannot be read or changed from a tenant', async () => {
    const { admin } = await createTenant(test);
    const listed = await test.call('GET', registrations, { token: admin.token });
    expect(listed.body.data.every((entry: any) => entry.configured === false)).toBe(true);
    expectError(await test.call('DELETE', `${registrations}/google`, { token: admin.token }), 404, 'NOT_FOUND');
    expect(await enabledFor('')).toEqual(['google']);
  });

  it('is replaced by that of a tenant, enabled or not', async () => {
    const { tenant, tenantId, sub } = await createKnown();
    const { token } = tenant.admin;
    expect((await logInThrough(test, sub, { tenantId })).status).toBe(200);
    const client = await server.register(await callbackOf(test, token, 'google'));
    await configure(test, token, 'google', { ...client, issuer: server.issuer, enabled: false });
    expect(await enabledFor(`?tenantId=${tenantId}`)).toEqual([]);
    const { challenge } = createPkce();
    const refused = await createBrowser(test, sub).visit(startUrl(test, { tenantId, challenge }));
    expect(refused).toMatchObject({ status: 422, body: { details: { code: 'PROVIDER_NOT_AVAILABLE' } } });
    await configure(test, token, 'google', { ...client, issuer: server.issuer });
    // Another registration authenticates, so it is another identity, of this tenant only.
    const { accessToken } = (await logInThrough(test, sub, { tenantId })).body;
    const own = await test.call('GET', identities, { token: accessToken });
    expectError(own, 403, 'AUTHORIZATION_ERROR', 'SESSION_OF_ONE_TENANT');
    expect((await test.call('DELETE', `${registrations}/google`, { token })).status).toBe(204);
    expect(await enabledFor(`?tenantId=${tenantId}`)).toEqual(['google']);
    expect((await logInThrough(test, sub, { tenantId })).status).toBe(200);
  });

  it('stops a started login when the tenant creates one of its own', async () => {
    const { tenant, tenantId, sub } = await createKnown();
    const finished = await attemptLogin(test, sub, { tenantId });
    const { challenge } = createPkce();
    const halfway = await createBrowser(test, sub).visit(startUrl(test, { tenantId, challenge }), ({ pathname }) =>
      pathname.endsWith('/callback'),
    );
    await configure(test, tenant.admin.token, 'google', { client_id: 'x', client_secret: 'x', enabled: false });
    const back = await test.call('GET', `${halfway.url.pathname}${halfway.url.search}`);
    expectError(back, 401, 'AUTHENTICATION_ERROR');
    const code = finished.arrival.url.searchParams.get('code')!;
    expectError(await exchange(test, code, finished.verifier), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('a login through it', () => {
  it('gives access to the account: the user may change it', async () => {
    const { person, sub } = await createKnown();
    const { accessToken: token, user } = (await logInThrough(test, sub)).body;
    expect(user.id).toBe(person.userId);
    const own = await test.call('GET', identities, { token });
    expect(own.body.data).toEqual([
      {
        id: expect.any(String),
        provider: 'google',
        email: person.email,
        tenantId: null,
        created_at: expect.any(String),
        last_used_at: expect.any(String),
      },
    ]);
    const body = { currentPassword: person.password, newPassword: 'another horse' };
    expect((await test.call('POST', '/api/v1/auth/change-password', { token, body })).status).toBe(200);
  });

  it('creates no membership, with an account in another tenant or without one', async () => {
    const { sub } = await createKnown();
    const other = await createTenant(test);
    const there = { tenantId: other.tenantId };
    expect(refusalOf(await attemptLogin(test, sub, there))).toBe('account_not_linked');
    expect(refusalOf(await attemptLogin(test, someone('absent@example.com')))).toBe('account_not_linked');
    await logInThrough(test, sub);
    expect(refusalOf(await attemptLogin(test, sub, there))).toBe('login_refused');
    expect(refusalOf(await attemptLogin(test, sub, { tenantId: newId() }))).toBe('login_refused');
    const users = await test.call('GET', '/api/v1/secure/users', { token: other.admin.token });
    expect(users.body.pagination.total).toBe(1);
  });

  it('is recorded in each tenant that the identity gives access to', async () => {
    const { email, first, second } = await createPersonOfTwo(test);
    await logInThrough(test, someone(email), { tenantId: first.tenantId });
    for (const { admin } of [first, second]) {
      const rows = await auditOf(test, admin, 'auth.identity_linked');
      expect(rows.map(({ details }) => details.provider)).toEqual(['google']);
    }
  });

  it('offers a tenant selection, or uses the requested tenant', async () => {
    const { email, first, second } = await createPersonOfTwo(test);
    const sub = someone(email);
    const named = await logInThrough(test, sub, { tenantId: second.tenantId });
    expect(named.body.user.tenantId).toBe(second.tenantId);
    const answer = await logInThrough(test, sub);
    expect(answer.body).toMatchObject({ requiresTenantSelection: true, selectionToken: expect.any(String) });
    expect(answer.body.tenants.map((tenant: any) => tenant.id).toSorted()).toEqual(
      [first.tenantId, second.tenantId].toSorted(),
    );
    const { selectionToken } = answer.body;
    const chosen = await post(test, 'select-tenant', { selectionToken, tenantId: first.tenantId });
    expect(chosen).toMatchObject({ status: 200, body: { user: { tenantId: first.tenantId, email } } });
    const [row] = await auditOf(test, first.admin, 'auth.login');
    expect(row!.details.provider).toBe('google');
    expectNoSecrets(test, [selectionToken]);
  });

  it('401: the code of a tenant selection is valid once, too', async () => {
    const { email } = await createPersonOfTwo(test);
    const { arrival, verifier } = await attemptLogin(test, someone(email));
    const code = arrival.url.searchParams.get('code')!;
    expect((await exchange(test, code, verifier)).body.requiresTenantSelection).toBe(true);
    expectError(await exchange(test, code, verifier), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: a person without a tenant', async () => {
    const { tenant, sub } = await createKnown();
    const member = await createMember(test, tenant);
    await proveAddress(test, member.email);
    const membersSub = someone(member.email);
    await logInThrough(test, membersSub);
    await test.call('DELETE', `/api/v1/secure/users/${member.userId}`, { token: tenant.admin.token });
    const { arrival, verifier } = await attemptLogin(test, membersSub);
    expectError(await exchange(test, arrival.url.searchParams.get('code')!, verifier), 401, 'AUTHENTICATION_ERROR');
    expect((await logInThrough(test, sub)).status).toBe(200);
  });

  it('admits a linked system administrator', async () => {
    const sub = someone(systemAdmin.email);
    expect((await link(test, root.token, { person: sub })).status).toBe(201);
    const { user } = (await logInThrough(test, sub, { tenantId: systemTenantId })).body;
    expect(user).toMatchObject({ id: root.userId, isSystemAdmin: true });
  });

  it('401: a selection from before a password change', async () => {
    const { person, sub } = await createKnown();
    const { arrival, verifier } = await attemptLogin(test, sub);
    const body = { currentPassword: person.password, newPassword: 'another horse' };
    expect((await test.call('POST', '/api/v1/auth/change-password', { token: person.token, body })).status).toBe(200);
    expectError(await exchange(test, arrival.url.searchParams.get('code')!, verifier), 401, 'AUTHENTICATION_ERROR');
  });
});
