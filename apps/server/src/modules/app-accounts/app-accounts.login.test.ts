import { beforeAll, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Query } from '#core/data/db/query';
import { auditOf, comparable, createClock, minute, newEmail, post } from '#modules/auth/testing/steps';
import { createAppAccount, createTenant, logIn, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

// Hashes many passwords, on threads that other work of the machine precedes.
vi.setConfig({ testTimeout: 120_000 });

const clock = createClock();
const test = useService({ now: clock.now, environment: { PASSWORD_MEMORY_KIB: '19456' } });
const path = '/api/v1/secure/app-accounts';
const wrong = 'wrong horse battery';

let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  [tenant, other] = [await createTenant(test), await createTenant(test)];
});

const login = (who: { email: string; password: string; tenantId?: string }, call?: Call) => {
  const { email, password, tenantId } = who;
  return post(test, 'login', { email, password, tenantId }, call);
};
const suspendTenant = (tenantId: string, status = 'suspended') =>
  test.service.services.database.tenant(tenantId).interactive.all({
    kind: 'write',
    text: 'update tenants set status = $2 where id = $1',
    values: [tenantId, status],
    prepare: false,
  });

describe('login of an app account', () => {
  it('200: the session user and the tokens, exactly', async () => {
    const permissions = { spaces: { read: true, write: false }, users: { read: true } };
    const account = await createAppAccount(test, tenant, { permissions });
    const answer = await login(account);
    const name = answer.body.user.displayName;
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        user: {
          id: account.id,
          email: account.email,
          displayName: expect.stringMatching(/^app-/),
          fullName: name,
          tenantId: tenant.tenantId,
          tenantName: tenant.name,
          groups: [],
          groupDetails: null,
          permissions: ['spaces.read', 'users.read'],
          isSystemAdmin: false,
          isTenantAdmin: false,
        },
        accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
        refreshToken: expect.stringMatching(/^rt1_[\w-]{43}$/),
        expiresIn: 900,
      },
    });
    const { sub, tid } = JSON.parse(Buffer.from(answer.body.accessToken.split('.')[1], 'base64url').toString());
    expect({ sub, tid }).toEqual({ sub: account.id, tid: tenant.tenantId });
    const me = await test.call('GET', '/api/v1/auth/me', { token: answer.body.accessToken });
    expect(me.body).toEqual({
      data: {
        id: account.id,
        email: account.email,
        tenantId: tenant.tenantId,
        groups: [],
        displayName: name,
        locale: 'en',
      },
    });
  });

  it('200: with the tenant in upper case, and the address in other case', async () => {
    const account = await createAppAccount(test, tenant);
    for (const change of [
      { tenantId: account.tenantId.toUpperCase() },
      { email: account.email.toUpperCase() },
      { email: account.email.replace('app', 'ＡＰＰ') },
    ])
      expect((await login({ ...account, ...change })).status).toBe(200);
  });

  it('200: an app account of the system tenant is not a system administrator', async () => {
    const system = await logInSystemAdmin(test);
    const body = { name: 'Monitor', email: newEmail(), password: 'correct horse battery' };
    const created = await test.call('POST', path, { token: system.token, body });
    expect(created.status).toBe(201);
    const answer = await login({ ...body, tenantId: created.body.data.tenant_id });
    expect(answer.body.user).toMatchObject({ isSystemAdmin: false, isTenantAdmin: false });
    const token = answer.body.accessToken;
    expect((await test.call('GET', '/api/v1/system/mail-outbox', { token })).status).toBe(403);
    const headers = { 'x-tenant-id': tenant.tenantId };
    expect((await test.call('GET', '/api/v1/auth/me', { token, headers })).status).toBe(403);
  });

  it('200: is recorded with the app account as the actor', async () => {
    const account = await createAppAccount(test, tenant);
    await login(account, { ip: '198.51.100.7', headers: { 'user-agent': 'Display/1.0' } });
    const [entry] = await auditOf(test, tenant.admin, 'auth.login');
    expect(entry).toMatchObject({
      user_id: null,
      ip_address: '198.51.100.7',
      user_agent: 'Display/1.0',
      details: { actor: { type: 'app_account', id: account.id } },
    });
  });

  it('401: the same bytes for every reason', async () => {
    const changed = async (change: object) => {
      const account = await createAppAccount(test, tenant);
      const { token } = tenant.admin;
      expect((await test.call('PATCH', `${path}/${account.id}`, { token, body: change })).status).toBe(200);
      return account;
    };
    const account = await createAppAccount(test, tenant);
    const deleted = await createAppAccount(test, tenant);
    await test.call('DELETE', `${path}/${deleted.id}`, { token: tenant.admin.token });
    const closed = await createTenant(test);
    const locked = await createAppAccount(test, closed);
    await suspendTenant(closed.tenantId);
    const cases: { email: string; password: string; tenantId?: string }[] = [
      { email: newEmail(), password: account.password },
      { ...account, password: wrong },
      { ...account, tenantId: other.tenantId },
      { ...account, tenantId: newId() },
      { email: account.email, password: account.password },
      { ...tenant.admin, password: wrong },
      await changed({ status: 'suspended' }),
      await changed({ status: 'revoked' }),
      await changed({ expires_at: '2001-01-01T00:00:00Z' }),
      deleted,
      locked,
    ];
    const answers = [];
    for (const one of cases) answers.push(await login(one));
    for (const answer of answers) expectError(answer, 401, 'AUTHENTICATION_ERROR');
    expect(new Set(answers.map(comparable)).size).toBe(1);
    const headers = answers.map(({ headers: { 'x-request-id': _id, date: _date, ...rest } }) => JSON.stringify(rest));
    expect(new Set(headers).size).toBe(1);
    await suspendTenant(closed.tenantId, 'active');
    expect((await login(locked)).status).toBe(200);
  });

  it('401: from its expiry', async () => {
    const expires_at = new Date(clock.now().getTime() + 10 * minute).toISOString();
    const account = await createAppAccount(test, tenant, { expires_at });
    expect((await login(account)).status).toBe(200);
    clock.advance(10 * minute);
    expect((await login(account)).status).toBe(401);
    clock.advance(-10 * minute);
  });

  it('401: is recorded in its tenant for every reason', async () => {
    const { tenantId, admin } = await createTenant(test);
    const home = { tenantId, admin } as Tenant;
    const account = await createAppAccount(test, home);
    await login({ ...account, password: wrong });
    await test.call('PATCH', `${path}/${account.id}`, { token: admin.token, body: { status: 'suspended' } });
    await login(account);
    const failures = await auditOf(test, admin, 'auth.login_failed');
    expect(failures).toHaveLength(2);
    for (const failure of failures)
      expect(failure).toMatchObject({ user_id: null, details: { actor: { type: 'app_account', id: account.id } } });
  });

  it('401: needs the same statements for an unknown address, a user and an app account', async () => {
    const account = await createAppAccount(test, tenant);
    for (const tenantId of [tenant.tenantId, undefined]) {
      const texts: string[][] = [];
      for (const email of [newEmail(), tenant.admin.email, account.email])
        texts.push(await statementsDuring(() => login({ email, password: wrong, ...(tenantId && { tenantId }) })));
      expect(texts[0]!.length).toBeGreaterThan(3);
      expect(texts[1]).toEqual(texts[0]);
      expect(texts[2]).toEqual(texts[0]);
    }
  });

  it('429: after 10 failures, also for the correct password, until the window ends', async () => {
    const account = await createAppAccount(test, tenant);
    for (let count = 0; count < 10; count++) expect((await login({ ...account, password: wrong })).status).toBe(401);
    const refused = await login(account);
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FAILURES');
    const unknown = { email: newEmail(), password: wrong, tenantId: tenant.tenantId };
    for (let count = 0; count < 10; count++) await login(unknown);
    expect(comparable(await login(unknown))).toBe(comparable(refused));
    clock.advance(15 * minute);
    expect((await login(account)).status).toBe(200);
    clock.advance(-15 * minute);
  });
});

/** The statements of one request, without their values, sorted, because some run concurrently. */
async function statementsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const { database } = test.service.services;
  const original = database.credential;
  const texts: string[] = [];
  const note = (queries: readonly Query<unknown>[]) => texts.push(...queries.map(({ text }) => text));
  const watch = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get(scope, name) {
        const value: unknown = Reflect.get(scope, name, scope);
        if (name === 'interactive') return watch(value as object);
        if (typeof value !== 'function') return value;
        return (argument: unknown) => {
          if (name === 'batch') note(argument as Query<unknown>[]);
          else if (name === 'all' || name === 'first') note([argument as Query<unknown>]);
          return value.call(scope, argument);
        };
      },
    });
  database.credential = (tenantId) => watch(original(tenantId));
  try {
    await work();
  } finally {
    database.credential = original;
  }
  return texts.toSorted();
}

describe('an outdated hash', () => {
  it('is renewed at login, without revoking anything', async () => {
    const account = await createAppAccount(test, tenant);
    const first = await logIn(test, account);
    const { database, encryption } = test.service.services;
    const place = `app_accounts.password_hash:${account.id}`;
    const row = () =>
      database.tenant(tenant.tenantId).first<{ password_hash: string; password_changed_at: string }>({
        kind: 'read',
        text: 'select password_hash, password_changed_at from app_accounts where tenant_id = $1 and id = $2',
        values: [tenant.tenantId, account.id],
        prepare: false,
      });
    // The same password under weaker settings, made by the library that the service uses.
    const { hash } = await import('@node-rs/argon2');
    const weak = await hash(account.password, { memoryCost: 8192, timeCost: 1, parallelism: 1 });
    await database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: 'update app_accounts set password_hash = $3 where tenant_id = $1 and id = $2',
      values: [tenant.tenantId, account.id, encryption.encrypt(weak, place)],
      prepare: false,
    });
    const before = await row();
    expect((await login({ ...account, password: wrong })).status).toBe(401);
    expect((await row())!.password_hash).toBe(before!.password_hash);
    expect((await login(account)).status).toBe(200);
    const after = await row();
    expect(encryption.decrypt(after!.password_hash, place)).toContain('m=19456,t=2,p=1');
    expect(after!.password_changed_at).toBe(before!.password_changed_at);
    expect((await test.call('GET', '/api/v1/auth/me', { token: first.token })).status).toBe(200);
    expect((await login(account)).status).toBe(200);
  });
});
