import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { comparable, invite, newEmail, post, statusOf } from '#modules/auth/testing/steps';
import { createPkce } from '#modules/identity-providers/testing/browser';
import { move, moveNow, tenants, type Transition } from '#modules/tenants/testing/steps';
import { keyOf } from '#test/support/directory';
import {
  createAppAccount,
  createMember,
  createTenant,
  joinTenant,
  logIn,
  logInSystemAdmin,
  loginOf,
  type Person,
} from '#test/support/factories';
import {
  expectError,
  startService,
  strictlyLater,
  testServiceOf,
  useService,
  type Answer,
  type Call,
} from '#test/support/harness';

const test = useService({ now: strictlyLater(), ownDatabase: true });
const spaces = '/api/v1/secure/spaces';
const flags = { spaces: { read: true } };
const redirectUri = 'https://app.example.com/done';

let root: Person;
beforeAll(async () => {
  root = await logInSystemAdmin(test);
});

/** A tenant with one of each credential, and a user who also belongs to another tenant. */
async function settle() {
  const [tenant, other] = [await createTenant(test), await createTenant(test)];
  const { tenantId, admin } = tenant;
  const member = await createMember(test, tenant);
  await joinTenant(test, other, member);
  const app = await createAppAccount(test, tenant, { permissions: flags });
  const key = await keyOf(test, tenant, flags);
  const registration = { client_id: 'client', client_secret: 'secret', enabled: true, redirect_uris: [redirectUri] };
  const url = '/api/v1/secure/identity-providers/github';
  expect((await test.call('PUT', url, { token: admin.token, body: registration })).status).toBe(200);
  return { tenant, tenantId, other, admin, member, app, appToken: (await logIn(test, app)).token, key };
}

const use = (call: Call): Promise<Answer> => test.call('GET', spaces, call);

/** The operations that refuse access to the tenant, and their reversal. */
const ends: [what: string, out: Transition[], back: Transition[]][] = [
  ['suspended', ['suspend'], ['activate']],
  ['to be deleted', ['delete'], ['restore']],
  ['suspended, then to be deleted', ['suspend', 'delete'], ['restore', 'activate']],
];

const act = async (tenantId: string, moves: readonly Transition[]) => {
  for (const each of moves) expect([200, 204]).toContain((await move(test, root.token, tenantId, each)).status);
};

describe.each(ends)('a tenant that is %s', (_what, out, back) => {
  it('refuses sessions, app accounts and API keys on their next request, and accepts them again afterwards', async () => {
    const { tenantId, member, admin, appToken, key } = await settle();
    const credentials: Call[] = [{ token: member.token }, { token: admin.token }, { token: appToken }, key];
    for (const call of credentials) expect((await use(call)).status).toBe(200);
    await act(tenantId, out);
    for (const call of credentials) expectError(await use(call), 401, 'INVALID_TOKEN');
    expect(await statusOf(test, member.token)).toBe(401);
    await act(tenantId, back);
    for (const call of credentials) expect((await use(call)).status).toBe(200);
  });

  it('refuses refresh tokens without consuming them', async () => {
    const { tenantId, member } = await settle();
    const refresh = () => post(test, 'refresh', { refreshToken: member.refreshToken });
    await act(tenantId, out);
    expectError(await refresh(), 401, 'INVALID_TOKEN');
    await act(tenantId, back);
    const refreshed = await refresh();
    expect(refreshed.status).toBe(200);
    expect((await use({ token: refreshed.body.accessToken })).status).toBe(200);
  });

  it('refuses the correct password exactly like a wrong one, for users and app accounts', async () => {
    const { tenantId, admin, member, app } = await settle();
    await act(tenantId, out);
    const attempts = [
      { email: admin.email, password: admin.password },
      { email: admin.email, password: admin.password, tenantId },
      { email: member.email, password: member.password, tenantId },
      loginOf(app),
    ];
    for (const body of attempts) {
      const right = await post(test, 'login', body);
      const wrong = await post(test, 'login', { ...body, password: 'not the password' });
      expectError(right, 401, 'AUTHENTICATION_ERROR');
      expect(comparable(right)).toBe(comparable(wrong));
    }
    await act(tenantId, back);
    for (const body of attempts.slice(0, 1)) expect((await post(test, 'login', body)).status).toBe(200);
  });

  it('leaves its users their other tenants, and offers only those', async () => {
    const { tenantId, other, member } = await settle();
    const { email, password } = member;
    const elsewhere = await logIn(test, { email, password, tenantId: other.tenantId });
    const choice = await post(test, 'login', { email, password });
    expect(choice.body.requiresTenantSelection).toBe(true);
    await act(tenantId, out);
    expect((await use({ token: elsewhere.token })).status).toBe(200);
    expect((await post(test, 'login', { email, password })).body.user.tenantId).toBe(other.tenantId);
    const listed = await test.call('GET', '/api/v1/auth/tenants', { token: elsewhere.token });
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual([other.tenantId]);
    const call = { token: elsewhere.token, body: { tenantId } };
    expectError(await test.call('POST', '/api/v1/auth/switch-tenant', call), 404, 'NOT_FOUND');
    const body = { selectionToken: choice.body.selectionToken, tenantId };
    expectError(await post(test, 'select-tenant', body), 401, 'AUTHENTICATION_ERROR');
  });

  it('accepts no invitation, mailed or listed, until it is active again', async () => {
    const { tenant, tenantId, other } = await settle();
    const mailed = await invite(test, tenant, { email: newEmail() });
    const own = await createMember(test, other);
    await test.service.services.database.credential().interactive.all({
      kind: 'write',
      text: 'update accounts set email_verified_at = now() where email = $1',
      values: [own.email],
      prepare: false,
    });
    const invited = await invite(test, tenant, { email: own.email });
    const accept = () => post(test, 'accept-invitation', { token: mailed.token, password: 'correct horse' });
    const acceptOwn = () =>
      test.call('POST', `/api/v1/auth/invitations/${invited.userId}/accept`, { token: own.token });
    const listOwn = () => test.call('GET', '/api/v1/auth/invitations', { token: own.token });
    await act(tenantId, out);
    expectError(await accept(), 401, 'AUTHENTICATION_ERROR');
    expectError(await acceptOwn(), 404, 'NOT_FOUND');
    expect((await listOwn()).body.data).toEqual([]);
    await act(tenantId, back);
    expect((await listOwn()).body.data).toHaveLength(1);
    expect((await accept()).status).toBe(200);
    expect((await acceptOwn()).status).toBe(200);
  });

  it('offers and starts no login through its providers, like an unknown tenant', async () => {
    const { tenantId } = await settle();
    const { challenge } = createPkce();
    const list = (id: string) => test.call('GET', `/api/v1/public/auth/providers?tenantId=${id}`);
    const start = (id: string) => {
      const query = new URLSearchParams({
        tenantId: id,
        redirect_uri: redirectUri,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      });
      return test.call('GET', `/api/v1/public/auth/oauth/github/start?${query.toString()}`);
    };
    expect((await start(tenantId)).status).toBe(302);
    expect((await list(tenantId)).text).not.toBe((await list(newId())).text);
    await act(tenantId, out);
    const unknown = await start(newId());
    expect((await start(tenantId)).status).toBe(unknown.status);
    expect(comparable(await start(tenantId))).toBe(comparable(unknown));
    expect((await list(tenantId)).text).toBe((await list(newId())).text);
    await act(tenantId, back);
    expect((await start(tenantId)).status).toBe(302);
  });

  it('keeps its domain and the addresses of its users', async () => {
    const { tenantId, tenant, admin } = await settle();
    await act(tenantId, out);
    const body = { password: 'correct horse', tenantName: 'Again' };
    const sameDomain = { ...body, email: newEmail(), tenantDomain: tenant.domain };
    expectError(await post(test, 'register', sameDomain), 409, 'CONFLICT');
    const sameEmail = { ...body, email: admin.email, tenantDomain: `free-${newId()}` };
    expectError(await post(test, 'register', sameEmail), 409, 'CONFLICT');
  });

  it('is available to system administrators who name it', async () => {
    const { tenantId } = await settle();
    await act(tenantId, out);
    expect((await use({ token: root.token, headers: { 'x-tenant-id': tenantId } })).status).toBe(200);
    const url = `${tenants}/${tenantId}`;
    expect((await test.call('GET', url, { token: root.token })).status).toBe(200);
    expect((await test.call('PATCH', url, { token: root.token, body: { name: 'Helped' } })).status).toBe(200);
  });
});

describe('in another process', () => {
  it('refuses cached credentials there too, and accepts them again', async () => {
    const { tenantId, member, appToken, key } = await settle();
    const second = await startService({ connection: test.connection });
    const there = testServiceOf(second, test.connection);
    const credentials: Call[] = [{ token: member.token }, { token: appToken }, key];
    const statuses = () => Promise.all(credentials.map(async (call) => (await there.call('GET', spaces, call)).status));
    try {
      expect(await statuses()).toEqual([200, 200, 200]);
      await act(tenantId, ['suspend']);
      await expect.poll(statuses, { interval: 5, timeout: 5000 }).toEqual([401, 401, 401]);
      await act(tenantId, ['activate']);
      expect(await statuses()).toEqual([200, 200, 200]);
    } finally {
      await second.close();
    }
  });

  it('the notice comes with the change, in the same transaction', async () => {
    const { tenantId, member } = await settle();
    const second = await startService({ connection: test.connection });
    const there = testServiceOf(second, test.connection);
    try {
      expect((await there.call('GET', spaces, { token: member.token })).status).toBe(200);
      const known = () => second.services.principals.find(member.token);
      expect(known()?.tenantId).toBe(tenantId);
      await act(tenantId, ['suspend']);
      await expect.poll(known, { interval: 5, timeout: 5000 }).toBeUndefined();
      expectError(await there.call('GET', spaces, { token: member.token }), 401, 'INVALID_TOKEN');
    } finally {
      await second.close();
    }
  });
});

describe('50 concurrent logins, refreshes and requests during the suspension', () => {
  it('refuses all earlier credentials afterwards', async () => {
    const { tenantId, admin } = await settle();
    const { email, password } = admin;
    const logins = Array.from({ length: 15 }, () => post(test, 'login', { email, password }));
    const requests = Array.from({ length: 35 }, () => use({ token: admin.token }));
    const suspended = moveNow(test, tenantId, 'suspend');
    const answers = await Promise.all([...logins, ...requests]);
    await suspended;
    // After ten refused logins the account is locked for a while.
    expect(answers.every(({ status }) => [200, 401, 429].includes(status))).toBe(true);
    const tokens = answers
      .slice(0, 15)
      .flatMap(({ body }) => (body.accessToken === undefined ? [] : [body.accessToken]));
    for (const token of [admin.token, ...tokens]) expectError(await use({ token }), 401, 'INVALID_TOKEN');
  });
});
