import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/crypto/ids';
import type { Query } from '#core/db/query';
import { auditOf, comparable, createClock, minute, newEmail, post } from '#modules/auth/testing/steps';
import {
  createAppAccount,
  createMember,
  createTenant,
  logIn,
  logInSystemAdmin,
  type AppAccount,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

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
  test.service.services.database
    .tenant(tenantId)
    .all({ text: 'update tenants set status = $2 where id = $1', values: [tenantId, status], prepare: false });

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

  it('200: with its own tenantId, in capitals too, and the address in other letters', async () => {
    const account = await createAppAccount(test, tenant);
    const { tenantId } = tenant;
    for (const change of [
      { tenantId },
      { tenantId: tenantId.toUpperCase() },
      { email: account.email.toUpperCase() },
      { email: account.email.replace('app', 'ＡＰＰ') },
    ])
      expect((await login({ ...account, ...change })).status).toBe(200);
  });

  it('200: one of the system tenant is no system administrator', async () => {
    const system = await logInSystemAdmin(test);
    const body = { name: 'Monitor', email: newEmail(), password: 'correct horse battery' };
    expect((await test.call('POST', path, { token: system.token, body })).status).toBe(201);
    const answer = await login(body);
    expect(answer.body.user).toMatchObject({ isSystemAdmin: false, isTenantAdmin: false });
    const token = answer.body.accessToken;
    expect((await test.call('GET', '/api/v1/system/mail-outbox', { token })).status).toBe(403);
    const headers = { 'x-tenant-id': tenant.tenantId };
    expect((await test.call('GET', '/api/v1/auth/me', { token, headers })).status).toBe(403);
  });

  it('200: is recorded as its own doing', async () => {
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

  it('401: the same bytes whatever was wrong', async () => {
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
      { ...tenant.admin, password: wrong },
      await changed({ status: 'suspended' }),
      await changed({ status: 'revoked' }),
      await changed({ expires_at: '2001-01-01T00:00:00Z' }),
      deleted,
      locked,
      { ...locked, tenantId: closed.tenantId },
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

  it('401: from the moment on that it expires', async () => {
    const expires_at = new Date(clock.now().getTime() + 10 * minute).toISOString();
    const account = await createAppAccount(test, tenant, { expires_at });
    expect((await login(account)).status).toBe(200);
    clock.advance(10 * minute);
    expect((await login(account)).status).toBe(401);
    clock.advance(-10 * minute);
  });

  it('401: is recorded in its tenant, whatever was wrong', async () => {
    const { tenantId, admin } = await createTenant(test);
    const home = { tenantId, admin } as Tenant;
    const account = await createAppAccount(test, home);
    await login({ ...account, password: wrong });
    await login({ ...account, tenantId: other.tenantId });
    await test.call('PATCH', `${path}/${account.id}`, { token: admin.token, body: { status: 'suspended' } });
    await login(account);
    const failures = await auditOf(test, admin, 'auth.login_failed');
    expect(failures).toHaveLength(3);
    for (const failure of failures)
      expect(failure).toMatchObject({ user_id: null, details: { actor: { type: 'app_account', id: account.id } } });
  });

  it('401: costs the same statements for an unknown address, a person and an app account', async () => {
    const account = await createAppAccount(test, tenant);
    const texts: string[][] = [];
    for (const email of [newEmail(), tenant.admin.email, account.email])
      texts.push(await statementsDuring(() => login({ email, password: wrong })));
    expect(texts[0]!.length).toBeGreaterThan(5);
    expect(texts[1]).toEqual(texts[0]);
    expect(texts[2]).toEqual(texts[0]);
  });

  it('429: after 10 failures for the right password too, until the window ends', async () => {
    const account = await createAppAccount(test, tenant);
    for (let count = 0; count < 10; count++) expect((await login({ ...account, password: wrong })).status).toBe(401);
    const refused = await login(account);
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_FAILURES');
    const unknown = newEmail();
    for (let count = 0; count < 10; count++) await login({ email: unknown, password: wrong });
    expect(comparable(await login({ email: unknown, password: wrong }))).toBe(comparable(refused));
    clock.advance(15 * minute);
    expect((await login(account)).status).toBe(200);
    clock.advance(-15 * minute);
  });
});

/** The statements of one request, without their values, sorted: some of them run at once. */
async function statementsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const { database } = test.service.services;
  const original = database.credential;
  const texts: string[] = [];
  const note = (queries: readonly Query<unknown>[]) => texts.push(...queries.map(({ text }) => text));
  const watch = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get(scope, name) {
        const value: unknown = Reflect.get(scope, name, scope);
        if (name === 'slow') return watch(value as object);
        if (typeof value !== 'function') return value;
        return (argument: unknown) => {
          if (name === 'flight') note(argument as Query<unknown>[]);
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

describe('a person and an app account with one address', () => {
  /** The app account is of the given tenant, the person of `tenant`. */
  async function createBoth(home: Tenant, password?: string) {
    const person = await createMember(test, tenant);
    const app = await createAppAccount(test, home, { email: person.email, ...(password && { password }) });
    return { person, app };
  }
  const idOf = async (who: { email: string; password: string; tenantId?: string }) =>
    (await login(who)).body.user?.id as string | undefined;
  const remove = (app: AppAccount, home: Tenant) =>
    test.call('DELETE', `${path}/${app.id}`, { token: home.admin.token });

  it('200: each logs in with their own password, also when both name their tenant', async () => {
    for (const home of [tenant, other]) {
      const { person, app } = await createBoth(home);
      expect(await idOf(person)).toBe(person.userId);
      expect(await idOf(app)).toBe(app.id);
      expect(await idOf({ ...person, tenantId: tenant.tenantId })).toBe(person.userId);
      expect(await idOf({ ...app, tenantId: home.tenantId })).toBe(app.id);
      expect(await idOf({ ...person, tenantId: newId() })).toBeUndefined();
      expect(await idOf({ ...app, tenantId: newId() })).toBeUndefined();
      await remove(app, home);
      expect(await idOf(person)).toBe(person.userId);
      expect(await idOf(app)).toBeUndefined();
    }
  });

  it('200: with one password too the named tenant decides, and without one the person', async () => {
    const { person, app } = await createBoth(other, 'one horse for two');
    const changed = await test.call('POST', '/api/v1/auth/change-password', {
      token: person.token,
      body: { currentPassword: person.password, newPassword: app.password },
    });
    expect(changed.status).toBe(200);
    expect(await idOf(app)).toBe(person.userId);
    expect(await idOf({ ...app, tenantId: tenant.tenantId })).toBe(person.userId);
    expect(await idOf({ ...app, tenantId: other.tenantId })).toBe(app.id);
    const suspended = { token: tenant.admin.token, body: { status: 'suspended' } };
    await test.call('PATCH', `/api/v1/secure/users/${person.userId}`, suspended);
    expect(await idOf(app)).toBe(app.id);
  });

  it('200: what becomes of the one is nothing to the other', async () => {
    const { person, app } = await createBoth(tenant);
    const { token } = tenant.admin;
    await test.call('PATCH', `${path}/${app.id}`, { token, body: { status: 'revoked' } });
    expect([await idOf(person), await idOf(app)]).toEqual([person.userId, undefined]);
    const both = await createBoth(tenant);
    await test.call('PATCH', `/api/v1/secure/users/${both.person.userId}`, { token, body: { status: 'suspended' } });
    expect([await idOf(both.person), await idOf(both.app)]).toEqual([undefined, both.app.id]);
  });

  it('200: the password of the one, changed, ends no session of the other', async () => {
    const { person, app } = await createBoth(tenant);
    const ofApp = await logIn(test, app);
    await test.call('POST', '/api/v1/auth/change-password', {
      token: person.token,
      body: { currentPassword: person.password, newPassword: 'another horse' },
    });
    const status = async (token: string) => (await test.call('GET', '/api/v1/auth/me', { token })).status;
    expect([await status(person.token), await status(ofApp.token)]).toEqual([200, 200]);
    await test.call('POST', `${path}/${app.id}/regenerate-password`, { token: tenant.admin.token });
    expect([await status(person.token), await status(ofApp.token)]).toEqual([200, 401]);
  });

  it('401: one attempt draws once from the budget of the address', async () => {
    const { person, app } = await createBoth(other);
    for (let count = 0; count < 9; count++) expect((await login({ ...app, password: wrong })).status).toBe(401);
    expect(await idOf(person)).toBe(person.userId);
    expect(await idOf(app)).toBe(app.id);
    expect((await login({ ...app, password: wrong })).status).toBe(401);
    expect((await login(person)).status).toBe(429);
  });

  it('401: is recorded with the person; naming an app account after them is no way to watch them', async () => {
    const foreign = await createTenant(test);
    const { person, app } = await createBoth(foreign);
    const count = async (of: Tenant) => (await auditOf(test, of.admin, 'auth.login_failed')).length;
    const before = await count(tenant);
    await login({ ...person, password: wrong });
    expect([await count(tenant), await count(foreign)]).toEqual([before + 1, 0]);
    await login({ ...app, password: wrong, tenantId: foreign.tenantId });
    expect([await count(tenant), await count(foreign)]).toEqual([before + 2, 1]);
  });
});

describe('an outdated hash', () => {
  it('is made anew at login, without ending anything', async () => {
    const account = await createAppAccount(test, tenant);
    const first = await logIn(test, account);
    const { database, encryption } = test.service.services;
    const place = `app_accounts.password_hash:${account.id}`;
    const row = () =>
      database.tenant(tenant.tenantId).first<{ password_hash: string; password_changed_at: string }>({
        text: 'select password_hash, password_changed_at from app_accounts where tenant_id = $1 and id = $2',
        values: [tenant.tenantId, account.id],
        prepare: false,
      });
    // The same password under weaker settings, made by the library that the service uses.
    const { hash } = await import('@node-rs/argon2');
    const weak = await hash(account.password, { memoryCost: 8192, timeCost: 1, parallelism: 1 });
    await database.tenant(tenant.tenantId).all({
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
