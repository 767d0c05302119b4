import { describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newEmail, post } from '#modules/auth/testing/steps';
import { createDatabase } from '#test/support/database';
import { createTenant, logIn, proveAddress, unique } from '#test/support/factories';
import {
  startService,
  systemAdmin,
  testServiceOf,
  useService,
  type TestService,
  patientTiming,
} from '#test/support/harness';

const test = useService({ ownDatabase: true });

/**
 * Starts another process on the same database, as an operator would after a change of the settings, and stops it again.
 */
async function startWith<Result>(
  email: string,
  password: string | undefined,
  look: (started: TestService, generatedPassword: string | undefined) => Promise<Result>,
): Promise<Result> {
  const environment = { SYSTEM_ADMIN_EMAIL: email, SYSTEM_ADMIN_PASSWORD: password ?? '' };
  const service = await startService({ connection: test.connection, databaseTiming: patientTiming, environment });
  try {
    return await look(testServiceOf(service, test.connection), service.generatedPassword);
  } finally {
    await service.close();
  }
}

const login = (started: TestService, email: string, password: string, tenantId = systemTenantId) =>
  post(started, 'login', { email, password, tenantId });

const sql = (text: string, ...values: unknown[]) =>
  test.service.services.database
    .credential(systemTenantId)
    .interactive.all<any>({ kind: 'write', text, values, prepare: false });

const accountOf = async (email: string) => (await sql('select * from accounts where email = $1', email))[0];
const usersOf = (email: string) =>
  sql('select id, status, is_tenant_admin from users where tenant_id = $1 and email = $2', systemTenantId, email);
const auditRows = async () => {
  const text = 'select id, action from audit_logs where tenant_id = $1';
  return test.service.services.database
    .tenant(systemTenantId)
    .all<any>({ kind: 'read', text, values: [systemTenantId], prepare: false });
};

describe('the start', () => {
  it('changes nothing if the administrator exists', async () => {
    const before = [await accountOf(systemAdmin.email), await usersOf(systemAdmin.email), await auditRows()];
    await startWith(systemAdmin.email, 'another password', async (started, generated) => {
      expect(generated).toBeUndefined();
      expect((await login(started, systemAdmin.email, 'another password')).status).toBe(401);
    });
    const after = [await accountOf(systemAdmin.email), await usersOf(systemAdmin.email)];
    expect(after).toEqual(before.slice(0, 2));
    expect((await auditRows()).filter(({ action }) => action.startsWith('user.'))).toEqual([]);
  });

  it('appoints the named person as a further administrator, with the given password', async () => {
    const email = newEmail();
    await startWith(email.toUpperCase(), 'given password', async (started, generated) => {
      expect(generated).toBeUndefined();
      const answer = await login(started, email, 'given password');
      expect(answer.body.user).toMatchObject({ email, isSystemAdmin: true, isTenantAdmin: true });
    });
    expect((await usersOf(systemAdmin.email))[0]).toMatchObject({ status: 'active', is_tenant_admin: true });
  });

  it('generates a missing password, and shows it once', async () => {
    const email = newEmail();
    const generated = await startWith(email, undefined, async (started, password) => {
      expect((await login(started, email, password!)).body.user.isSystemAdmin).toBe(true);
      return password;
    });
    expect(generated).toMatch(/^[\w-]{24}$/);
    expect(await startWith(email, undefined, (_started, password) => Promise.resolve(password))).toBeUndefined();
  });

  it.each([
    ['suspended', `update users set status = 'suspended' where tenant_id = $1 and email = $2`],
    ['demoted', `update users set is_tenant_admin = false where tenant_id = $1 and email = $2`],
  ])('brings back who was %s, with the password of before', async (_what, statement) => {
    const email = newEmail();
    await startWith(email, 'given password', () => Promise.resolve());
    await sql(statement, systemTenantId, email);
    await startWith(email, 'another password', async (started, generated) => {
      expect(generated).toBeUndefined();
      expect((await login(started, email, 'another password')).status).toBe(401);
      expect((await login(started, email, 'given password')).body.user.isSystemAdmin).toBe(true);
    });
    expect(await usersOf(email)).toHaveLength(1);
  });

  it('restores a deleted administrator as a new user', async () => {
    const email = newEmail();
    await startWith(email, 'given password', () => Promise.resolve());
    const [user] = await usersOf(email);
    const root = await logIn(test, systemAdmin);
    const deleted = await test.call('DELETE', `/api/v1/secure/users/${user.id}`, { token: root.token });
    expect(deleted.status).toBe(204);
    await startWith(email, 'another password', async (started) => {
      const answer = await login(started, email, 'given password');
      expect(answer.body.user.isSystemAdmin).toBe(true);
      expect(answer.body.user.id).not.toBe(user.id);
    });
  });

  it('adds a person of another tenant with a verified address, without changing the account', async () => {
    const { admin, tenantId } = await createTenant(test);
    await proveAddress(test, admin.email);
    const before = await accountOf(admin.email);
    await startWith(admin.email, 'another password', async (started) => {
      expect((await login(started, admin.email, admin.password)).body.user.isSystemAdmin).toBe(true);
      expect((await login(started, admin.email, admin.password, tenantId)).status).toBe(200);
    });
    expect(await accountOf(admin.email)).toEqual(before);
  });

  it('ignores an account with an unverified address', async () => {
    const { admin } = await createTenant(test);
    const before = await accountOf(admin.email);
    await startWith(admin.email, 'given password', async (started, generated) => {
      expect(generated).toBeUndefined();
      for (const password of [admin.password, 'given password']) {
        expect((await login(started, admin.email, password)).status).toBe(401);
      }
    });
    expect(await accountOf(admin.email)).toEqual(before);
    expect(await usersOf(admin.email)).toEqual([]);
  });

  it('ignores an account that was registered again after its administrator was deleted', async () => {
    const email = newEmail();
    await startWith(email, 'given password', () => Promise.resolve());
    const [user] = await usersOf(email);
    const root = await logIn(test, systemAdmin);
    await test.call('DELETE', `/api/v1/secure/users/${user.id}`, { token: root.token });
    const body = { email, password: 'of a stranger', tenantName: 'Stranger', tenantDomain: unique('stranger') };
    expect((await post(test, 'register', body)).status).toBe(201);
    await startWith(email, 'given password', async (started) => {
      expect((await login(started, email, 'of a stranger')).status).toBe(401);
    });
    expect(await usersOf(email)).toEqual([expect.objectContaining({ status: 'deleted' })]);
  });

  it('of several concurrent processes creates one administrator', async () => {
    const email = newEmail();
    const generated = await Promise.all(
      Array.from({ length: 3 }, () => startWith(email, undefined, (_started, password) => Promise.resolve(password))),
    );
    expect(generated.filter((password) => password !== undefined)).toHaveLength(1);
    expect(await usersOf(email)).toEqual([expect.objectContaining({ status: 'active', is_tenant_admin: true })]);
    const password = generated.find((one) => one !== undefined)!;
    expect((await login(test, email, password)).body.user.isSystemAdmin).toBe(true);
  });
});

it('the first start of several concurrent processes creates one system tenant with one administrator', async () => {
  const own = await createDatabase();
  const environment = { SYSTEM_ADMIN_PASSWORD: '' };
  const services = await Promise.all(
    Array.from({ length: 3 }, () => startService({ connection: own.connection, environment })),
  );
  try {
    const generated = services.flatMap(({ generatedPassword }) => generatedPassword ?? []);
    expect(generated).toHaveLength(1);
    const users = await services[0]!.services.database.tenant(systemTenantId).all<any>({
      kind: 'read',
      text: 'select status from users where tenant_id = $1',
      values: [systemTenantId],
      prepare: false,
    });
    expect(users).toEqual([{ status: 'active' }]);
    const answer = await login(testServiceOf(services[1]!, own.connection), systemAdmin.email, generated[0]!);
    expect(answer.body.user.isSystemAdmin).toBe(true);
  } finally {
    for (const service of services) await service.close();
    await own.drop();
  }
});
