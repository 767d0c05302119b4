import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { Service } from '#app/service';
import { createClock, day, hour, inParallel, minute, post, statusOf } from '#modules/auth/testing/steps';
import { createAppAccount, createTenant, logIn, loginOf, type AppAccount, type Tenant } from '#test/support/factories';
import { expectError, startService, testServiceOf, useService, type TestService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const path = '/api/v1/secure/app-accounts';

let second: Service;
let there: TestService;
let tenant: Tenant;

beforeAll(async () => {
  second = await startService({ now: clock.now });
  there = testServiceOf(second, test.connection);
});
afterAll(() => second.close());
// A new one each time, because a change of the clock expires the token of its administrator.
beforeEach(async () => {
  tenant = await createTenant(test);
});

async function change(id: string, body: object): Promise<void> {
  const answer = await test.call('PATCH', `${path}/${id}`, { token: tenant.admin.token, body });
  expect(answer.status).toBe(200);
}

const setTenantStatus = async (status: string) => {
  const { services } = test.service;
  await services.database.tenant(tenant.tenantId).interactive.batch([
    {
      kind: 'write',
      text: 'update tenants set status = $2 where id = $1',
      values: [tenant.tenantId, status],
      prepare: false,
    },
    {
      kind: 'write',
      text: 'select pg_notify($1, $2)',
      values: ['atrium_principals', `tenant:${tenant.tenantId}`],
      prepare: false,
    },
  ]);
  services.principals.forget(`tenant:${tenant.tenantId}`);
};

/** A session that both processes have cached. */
async function knownSession(account: AppAccount) {
  const session = await logIn(test, account);
  expect([await statusOf(test, session.token), await statusOf(there, session.token)]).toEqual([200, 200]);
  return session;
}

const until401There = (token: string) =>
  expect.poll(() => statusOf(there, token), { interval: 5, timeout: 5000 }).toBe(401);

describe('sessions of an app account are revoked, here and in another process', () => {
  const ways: Record<string, (account: AppAccount) => Promise<unknown>> = {
    'it is suspended': ({ id }) => change(id, { status: 'suspended' }),
    'it is revoked': ({ id }) => change(id, { status: 'revoked' }),
    'it expires by a change': ({ id }) => change(id, { expires_at: '2001-01-01T00:00:00Z' }),
    'it is deleted': ({ id }) => test.call('DELETE', `${path}/${id}`, { token: tenant.admin.token }),
    'its password is set': ({ id }) =>
      test.call('POST', `${path}/${id}/set-password`, {
        token: tenant.admin.token,
        body: { password: 'another horse battery' },
      }),
    'its password is regenerated': ({ id }) =>
      test.call('POST', `${path}/${id}/regenerate-password`, { token: tenant.admin.token }),
    'its tenant is suspended': () => setTenantStatus('suspended'),
  };

  it.each(Object.entries(ways))('%s', async (_what, end) => {
    const account = await createAppAccount(test, tenant);
    const session = await knownSession(account);
    await end(account);
    expect(await statusOf(test, session.token)).toBe(401);
    await until401There(session.token);
    for (const process of [test, there])
      expectError(await post(process, 'refresh', { refreshToken: session.refreshToken }), 401, 'INVALID_TOKEN');
    for (const process of [test, there])
      expectError(await post(process, 'login', loginOf(account)), 401, 'AUTHENTICATION_ERROR');
  });

  it('the time of its expiry', async () => {
    const account = await createAppAccount(test, tenant);
    await change(account.id, { expires_at: new Date(clock.now().getTime() + 5 * minute).toISOString() });
    const session = await knownSession(account);
    clock.advance(5 * minute);
    expect([await statusOf(test, session.token), await statusOf(there, session.token)]).toEqual([401, 401]);
    expectError(await post(there, 'refresh', { refreshToken: session.refreshToken }), 401, 'INVALID_TOKEN');
  });

  it('not by a change of name, description or permissions', async () => {
    const account = await createAppAccount(test, tenant);
    const session = await knownSession(account);
    await change(account.id, { name: 'Kiosk', description: 'Hall', permissions: { spaces: { read: true } } });
    await change(account.id, { status: 'active', expires_at: '2100-01-01T00:00:00Z' });
    expect([await statusOf(test, session.token), await statusOf(there, session.token)]).toEqual([200, 200]);
    expect((await post(there, 'refresh', { refreshToken: session.refreshToken })).status).toBe(200);
  });
});

describe('revoked sessions stay revoked', () => {
  it.each([
    ['a suspension', { status: 'suspended' }, { status: 'active' }],
    ['a revocation', { status: 'revoked' }, { status: 'active' }],
    ['an expiry', { expires_at: '2001-01-01T00:00:00Z' }, { expires_at: null }],
  ])('after %s', async (_what, pause, resume) => {
    const account = await createAppAccount(test, tenant);
    const session = await knownSession(account);
    await change(account.id, pause);
    await change(account.id, resume);
    expect(await statusOf(test, session.token)).toBe(401);
    await until401There(session.token);
    expectError(await post(test, 'refresh', { refreshToken: session.refreshToken }), 401, 'INVALID_TOKEN');
    const isRevoked = 'status' in pause && pause.status === 'revoked';
    expect((await post(test, 'login', loginOf(account))).status).toBe(isRevoked ? 401 : 200);
  });

  it('after an expiry without requests', async () => {
    const account = await createAppAccount(test, tenant);
    await change(account.id, { expires_at: new Date(clock.now().getTime() + minute).toISOString() });
    const session = await logIn(test, account);
    clock.advance(2 * minute);
    await change(account.id, { expires_at: null });
    expect(await statusOf(test, session.token)).toBe(401);
    expectError(await post(test, 'refresh', { refreshToken: session.refreshToken }), 401, 'INVALID_TOKEN');
  });

  it('logins that race with a suspension or a revocation leave no active session: 20 rounds', async () => {
    for (let round = 0; round < 20; round++) {
      const account = await createAppAccount(test, tenant);
      const status = round % 2 === 0 ? 'suspended' : 'revoked';
      const [logins] = await Promise.all([
        inParallel(4, (at) => post(at % 2 === 0 ? test : there, 'login', loginOf(account))),
        change(account.id, { status }),
      ]);
      for (const { body } of logins.filter((answer) => answer.status === 200)) {
        expect(await statusOf(test, body.accessToken)).toBe(401);
        await until401There(body.accessToken);
        expectError(await post(test, 'refresh', { refreshToken: body.refreshToken }), 401, 'INVALID_TOKEN');
      }
      // The revocation cleared the password, in every order of the race.
      await change(account.id, { status: 'active' });
      expect((await post(test, 'login', loginOf(account))).status).toBe(status === 'revoked' ? 401 : 200);
    }
  });

  it('refreshes that race with a revocation leave no active session: 20 rounds', async () => {
    for (let round = 0; round < 20; round++) {
      const account = await createAppAccount(test, tenant);
      const { refreshToken } = await logIn(test, account);
      const [refreshed] = await Promise.all([
        post(there, 'refresh', { refreshToken }),
        change(account.id, { status: 'revoked' }),
      ]);
      expect([200, 401]).toContain(refreshed.status);
      if (refreshed.status !== 200) continue;
      await until401There(refreshed.body.accessToken);
      const again = await post(there, 'refresh', { refreshToken: refreshed.body.refreshToken });
      expectError(again, 401, 'INVALID_TOKEN');
    }
  });
});

describe('permissions of an active session', () => {
  it('are those of the account at each request, here and in another process', async () => {
    const account = await createAppAccount(test, tenant, { permissions: { spaces: { read: true } } });
    const { token } = await logIn(test, account);
    const spaces = (process: TestService) => process.call('GET', '/api/v1/secure/spaces', { token });
    const statuses = async () => [(await spaces(test)).status, (await spaces(there)).status];
    expect(await statuses()).toEqual([200, 200]);
    await change(account.id, { permissions: { spaces: { read: false } } });
    expect((await spaces(test)).status).toBe(403);
    await expect.poll(async () => (await spaces(there)).status, { interval: 5, timeout: 5000 }).toBe(403);
    await change(account.id, { permissions: { spaces: { read: true } } });
    expect((await spaces(test)).status).toBe(200);
    await expect.poll(async () => (await spaces(there)).status, { interval: 5, timeout: 5000 }).toBe(200);
  });
});

describe('sessions of one app account', () => {
  it('are limited to 20: the oldest ends', async () => {
    const account = await createAppAccount(test, tenant);
    const oldest = await logIn(test, account);
    const later = [];
    for (let count = 0; count < 20; count++) later.push(await logIn(test, account));
    expect(await statusOf(test, oldest.token)).toBe(401);
    const sessions = await test.call('GET', '/api/v1/auth/sessions', { token: later[0]!.token });
    expect(sessions.body.data).toHaveLength(20);
  });

  it('are limited to 20 when 50 start concurrently', async () => {
    // Each round costs as much as fifty password checks.
    for (let round = 0; round < 4; round++) {
      const account = await createAppAccount(test, tenant);
      const answers = await inParallel(50, () => post(test, 'login', loginOf(account)));
      const begun = answers.filter(({ status }) => status === 200);
      expect(answers.every(({ status }) => status === 200 || status === 429 || status === 503)).toBe(true);
      const rows = await test.service.services.database.credential(tenant.tenantId).all<{ alive: number }>({
        kind: 'read',
        text: `select count(*) as alive from sessions where tenant_id = $1 and account_id = $2 and ended_at is null`,
        values: [tenant.tenantId, account.id],
        prepare: false,
      });
      expect(rows).toEqual([{ alive: Math.min(20, begun.length) }]);
    }
  });

  it('last as long as those of users, and longer with rememberMe', async () => {
    const login = loginOf(await createAppAccount(test, tenant));
    for (const [rememberMe, idle] of [
      [false, day],
      [true, 14 * day],
    ] as const) {
      const { refreshToken } = (await post(test, 'login', { ...login, rememberMe })).body;
      clock.advance(idle - hour);
      const refreshed = await post(test, 'refresh', { refreshToken });
      expect(refreshed.status).toBe(200);
      clock.advance(idle);
      const late = await post(test, 'refresh', { refreshToken: refreshed.body.refreshToken });
      expectError(late, 401, 'INVALID_TOKEN');
    }
  });
});
