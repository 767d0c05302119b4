import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { appAccountPlace, openPasswordHash } from '#modules/auth/index';
import { auditOf, createClock, expectNoSecrets, hour, inParallel, post, statusOf } from '#modules/auth/testing/steps';
import { withClient, listTables } from '#test/support/database';
import {
  createAppAccount,
  createMember,
  createTenant,
  logIn,
  loginOf,
  type AppAccount,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const path = '/api/v1/secure/app-accounts';
const another = 'another horse battery';

let tenant: Tenant;
let token: string;
let manager: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  manager = await createMember(test, tenant, { permissions: ['app_accounts.manage'] });
});

type Operation = 'set-password' | 'regenerate-password';

/** Replaces the password; returns the new one, if the answer contains one. */
async function replace(operation: Operation, id: string, by = token): Promise<{ answer: Answer; password: string }> {
  const body = operation === 'set-password' ? { password: another } : undefined;
  const answer = await test.call('POST', `${path}/${id}/${operation}`, { token: by, body });
  return { answer, password: answer.body.data?.password ?? another };
}

const operations: Operation[] = ['set-password', 'regenerate-password'];
const patch = (id: string, body: object) => test.call('PATCH', `${path}/${id}`, { token, body });
const loginStatus = async (account: AppAccount, password: string) =>
  (await post(test, 'login', { ...loginOf(account), password })).status;

/** The stored hash, decrypted. */
async function storedHash(id: string): Promise<string | undefined> {
  const { services } = test.service;
  const row = await services.database.tenant(tenant.tenantId).first<{ password_hash: string | null }>({
    kind: 'read',
    text: 'select password_hash from app_accounts where tenant_id = $1 and id = $2',
    values: [tenant.tenantId, id],
    prepare: false,
  });
  return openPasswordHash(services, appAccountPlace(id), row!.password_hash);
}

describe('setAppAccountPassword', () => {
  it('200: the id and the time, exactly', async () => {
    const { id } = await createAppAccount(test, tenant);
    const { answer } = await replace('set-password', id);
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { data: { id, updated_at: expect.any(String) }, message: expect.any(String) },
    });
    const read = await test.call('GET', `${path}/${id}`, { token });
    expect(read.body.data.updated_at).toBe(answer.body.data.updated_at);
  });

  it.each([
    ['12 characters', '😀'.repeat(12)],
    ['256 characters', 'x'.repeat(256)],
  ])('200: a password of %s', async (_what, password) => {
    const account = await createAppAccount(test, tenant);
    const answer = await test.call('POST', `${path}/${account.id}/set-password`, { token, body: { password } });
    expect(answer.status).toBe(200);
    expect(await loginStatus(account, password)).toBe(200);
  });

  it.each([
    ['no body', undefined],
    ['no password', {}],
    ['a password of 11 characters', { password: 'x'.repeat(11) }],
    ['11 characters in 22 code units', { password: '😀'.repeat(11) }],
    ['a password of 257 characters', { password: 'x'.repeat(257) }],
    ['null for the password', { password: null }],
    ['an unknown property', { password: another, id: newId() }],
  ])('400: %s', async (_what, body) => {
    const { id } = await createAppAccount(test, tenant);
    expectError(await test.call('POST', `${path}/${id}/set-password`, { token, body }), 400, 'VALIDATION_ERROR');
  });

  it('50 concurrent changes leave exactly one valid password and no active session', async () => {
    // Each round costs as much as fifty logins.
    for (let round = 0; round < 4; round++) {
      const account = await createAppAccount(test, tenant);
      const before = await logIn(test, account);
      const passwords = Array.from({ length: 50 }, (_, at) => `correct horse battery ${at}`);
      const answers = await inParallel(50, (at) =>
        test.call('POST', `${path}/${account.id}/set-password`, { token, body: { password: passwords[at] } }),
      );
      // Requests that would wait too long for a permit are refused and change nothing.
      expect(answers.every(({ status }) => status === 200 || status === 503)).toBe(true);
      const { updated_at } = (await test.call('GET', `${path}/${account.id}`, { token })).body.data;
      const latest = passwords.filter((_, at) => answers[at]!.body.data?.updated_at === updated_at);
      const others = passwords.filter((password) => !latest.includes(password)).slice(0, 3);
      const working = [];
      for (const password of [...latest, ...others])
        if ((await loginStatus(account, password)) === 200) working.push(password);
      expect(working).toHaveLength(1);
      expect(latest).toContain(working[0]);
      expect(await statusOf(test, before.token)).toBe(401);
    }
  });

  it('revokes the sessions of concurrent logins, except with the new password: 20 rounds', async () => {
    for (let round = 0; round < 20; round++) {
      const account = await createAppAccount(test, tenant);
      const [logins, { answer, password }] = await Promise.all([
        inParallel(3, () => post(test, 'login', loginOf(account))),
        replace('set-password', account.id),
      ]);
      expect(answer.status).toBe(200);
      for (const login of logins.filter(({ status }) => status === 200))
        expect(await statusOf(test, login.body.accessToken)).toBe(401);
      expect(await loginStatus(account, password)).toBe(200);
    }
  });
});

describe('regenerateAppAccountPassword', () => {
  it('200: a random password, and nothing else', async () => {
    const account = await createAppAccount(test, tenant);
    const seen = new Set<string>();
    for (let count = 0; count < 5; count++) {
      const { answer, password } = await replace('regenerate-password', account.id);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ data: { password: expect.stringMatching(/^[\w-]{24,256}$/) } });
      seen.add(password);
    }
    expect(seen.size).toBe(5);
  });

  it('200: with an empty body too', async () => {
    const account = await createAppAccount(test, tenant);
    const answer = await test.call('POST', `${path}/${account.id}/regenerate-password`, { token, body: {} });
    expect(answer.status).toBe(200);
    expect(await loginStatus(account, answer.body.data.password)).toBe(200);
  });
});

describe.each(operations)('%s', (operation) => {
  it('200: revokes the old password, all sessions and refresh tokens; the new password works', async () => {
    const account = await createAppAccount(test, tenant);
    const sessions = [await logIn(test, account), await logIn(test, account)];
    for (const session of sessions) expect(await statusOf(test, session.token)).toBe(200);
    const { password } = await replace(operation, account.id);
    for (const session of sessions) {
      expect(await statusOf(test, session.token)).toBe(401);
      expectError(await post(test, 'refresh', { refreshToken: session.refreshToken }), 401, 'INVALID_TOKEN');
    }
    expect(await loginStatus(account, account.password)).toBe(401);
    expect(await loginStatus(account, password)).toBe(200);
  });

  it('200: a suspended account gets one, and uses it after its activation', async () => {
    const account = await createAppAccount(test, tenant);
    await patch(account.id, { status: 'suspended' });
    const { password } = await replace(operation, account.id);
    expect(await loginStatus(account, password)).toBe(401);
    await patch(account.id, { status: 'active' });
    expect(await loginStatus(account, password)).toBe(200);
  });

  it('200: restores the login of an account that was revoked before', async () => {
    const account = await createAppAccount(test, tenant);
    await patch(account.id, { status: 'revoked' });
    await patch(account.id, { status: 'active' });
    expect(await loginStatus(account, account.password)).toBe(401);
    const { password } = await replace(operation, account.id);
    expect(await loginStatus(account, account.password)).toBe(401);
    expect(await loginStatus(account, password)).toBe(200);
    expect((await test.call('GET', `${path}/${account.id}`, { token })).body.data.auth_user_id).toBe(account.id);
  });

  it('404: unknown ones and those of other tenants, with the same answer', async () => {
    const other = await createTenant(test);
    const foreign = await createAppAccount(test, other);
    for (const id of [foreign.id, newId()]) expectError((await replace(operation, id)).answer, 404, 'NOT_FOUND');
    expect(await loginStatus(foreign, foreign.password)).toBe(200);
  });

  it('409: a revoked account, in concurrent requests: 20 rounds', async () => {
    const { id } = await createAppAccount(test, tenant);
    await patch(id, { status: 'revoked' });
    expectError((await replace(operation, id)).answer, 409, 'CONFLICT', 'APP_ACCOUNT_REVOKED');
    for (let round = 0; round < 20; round++) {
      const account = await createAppAccount(test, tenant);
      const [{ answer }] = await Promise.all([
        replace(operation, account.id),
        patch(account.id, { status: 'revoked' }),
      ]);
      expect([200, 409]).toContain(answer.status);
      expect(await storedHash(account.id)).toBeUndefined();
    }
  });

  it('422: an account with more permissions than the caller', async () => {
    const account = await createAppAccount(test, tenant, { permissions: { users: { read: true } } });
    const { answer } = await replace(operation, account.id, manager.token);
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'PERMISSIONS_ABOVE_OWN');
    expect(answer.body.details.missing).toEqual(['users.read']);
    expect(await loginStatus(account, account.password)).toBe(200);
    const weak = await createAppAccount(test, tenant, { permissions: { spaces: { read: true } } });
    expect((await replace(operation, weak.id, manager.token)).answer.status).toBe(200);
  });
});

it('no password is in a log line, in the audit trail or in the database', async () => {
  const account = await createAppAccount(test, tenant, { password: 'typed at creation' });
  const set = await replace('set-password', account.id);
  const made = await replace('regenerate-password', account.id);
  await logIn(test, { ...account, password: made.password });
  await post(test, 'login', { ...loginOf(account), password: 'a wrong password' });
  await patch(account.id, { status: 'revoked' });
  const secrets = ['typed at creation', set.password, made.password, 'a wrong password'];
  expectNoSecrets(test, secrets);
  const rows = await withClient(test.connection, async (client) => {
    const texts = [];
    for (const table of await listTables(client))
      texts.push(...(await client.query<{ row: string }>(`select t::text as row from ${table} t`)).rows);
    return texts.map(({ row }) => row);
  });
  expect(rows.filter((row) => secrets.some((secret) => row.includes(secret)))).toEqual([]);
  expect(rows.filter((row) => row.includes('$argon2')).length).toBe(0);
  const trail = await auditOf(test, tenant.admin, 'app_account.*');
  const own = trail.filter((entry) => entry.resource_id === account.id);
  expect(own.map((entry) => entry.details.fields)).toContainEqual(['status']);
});

it('the hash is bound to its account: a copy does not work for another account', async () => {
  const [strong, weak] = [await createAppAccount(test, tenant), await createAppAccount(test, tenant)];
  await test.service.services.database.tenant(tenant.tenantId).interactive.all({
    kind: 'write',
    text: `update app_accounts a set password_hash = b.password_hash from app_accounts b
      where a.tenant_id = $1 and a.id = $2 and b.tenant_id = $1 and b.id = $3`,
    values: [tenant.tenantId, strong.id, weak.id],
    prepare: false,
  });
  const answer = await post(test, 'login', { ...loginOf(strong), password: weak.password });
  expect(answer.status).not.toBe(200);
});

it('a clock that stops or goes back does not admit an older login', async () => {
  const account = await createAppAccount(test, tenant);
  clock.advance(-hour);
  await replace('set-password', account.id);
  clock.advance(hour);
  const rows = await test.service.services.database.tenant(tenant.tenantId).all<{ later: boolean }>({
    kind: 'read',
    text: 'select password_changed_at > created_at as later from app_accounts where tenant_id = $1 and id = $2',
    values: [tenant.tenantId, account.id],
    prepare: false,
  });
  expect(rows).toEqual([{ later: true }]);
});

describe('many concurrent password changes', () => {
  const replaceMany = (times: number, replaceOne: (at: number) => Promise<{ answer: Answer }>) =>
    Promise.all(Array.from({ length: times }, async (_, at) => (await replaceOne(at)).answer));

  it.each(operations)(
    '%s > 429 with Retry-After beyond a hundred in ten minutes for one app account',
    async (operation) => {
      const flooding = await createTenant(test);
      const { id } = await createAppAccount(test, flooding);
      const by = flooding.admin.token;
      const answers = await replaceMany(120, () => replace(operation, id, by));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused).toHaveLength(20);
      for (const answer of refused) {
        expectError(answer, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_PASSWORDS');
        expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      }
      clock.advance(hour);
      expect((await replace(operation, id, (await logIn(test, flooding.admin)).token)).answer.status).toBe(200);
    },
  );

  it('120 concurrent changes do not block logins and password changes of other tenants and addresses', async () => {
    const [flooding, other] = [await createTenant(test), await createTenant(test)];
    const accounts = await Promise.all(Array.from({ length: 12 }, () => createAppAccount(test, flooding)));
    const own = await createAppAccount(test, other);
    const flood = replaceMany(120, (at) => replace('set-password', accounts[at % 12]!.id, flooding.admin.token));
    const logins = await Promise.all(Array.from({ length: 3 }, () => logIn(test, other.admin)));
    expect(logins).toHaveLength(3);
    expect((await replace('set-password', own.id, other.admin.token)).answer.status).toBe(200);
    const statuses = (await flood).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  });
});
