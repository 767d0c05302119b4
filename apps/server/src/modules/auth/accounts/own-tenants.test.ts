import { beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import {
  auditOf,
  comparable,
  createClock,
  createPersonOfTwo,
  day,
  expectNoSecrets,
  hour,
  minute,
  post,
  statusOf,
} from '#modules/auth/testing/steps';
import {
  createMember,
  createTenant,
  joinTenant,
  logIn,
  logInSystemAdmin,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });

const listTenants = (token: string) => test.call('GET', '/api/v1/auth/tenants', { token });
const switchTo = (token: string, tenantId: unknown) =>
  test.call('POST', '/api/v1/auth/switch-tenant', { token, body: { tenantId } });
const setUserStatus = (tenant: Tenant, userId: string, status: string) =>
  test.call('PATCH', `/api/v1/secure/users/${userId}`, { token: tenant.admin.token, body: { status } });
const setTenantStatus = (tenant: Tenant, status: string) =>
  test.service.services.database.tenant(tenant.tenantId).interactive.all({
    kind: 'write',
    text: 'update tenants set status = $2 where id = $1',
    values: [tenant.tenantId, status],
    prepare: false,
  });
const sessionsOf = async (token: string) =>
  (await test.call('GET', '/api/v1/auth/sessions', { token })).body.data as {
    current: boolean;
    created_at: string;
    expires_at: string;
  }[];

/** A person with two tenants, logged in at the first. */
async function createGuest() {
  const [home, host] = [await createTenant(test), await createTenant(test)];
  const person = await createMember(test, home);
  const guestId = await joinTenant(test, host, person);
  return { home, host, person, guestId };
}

describe('listOwnTenants', () => {
  it('200: every tenant of the caller by name, the current one marked', async () => {
    const { home, host, person } = await createGuest();
    const entry = ({ tenantId: id, name, domain }: Tenant) => ({ id, name, domain, current: id === home.tenantId });
    const both = [home, host].toSorted((left, right) => (left.name < right.name ? -1 : 1));
    const answer = await listTenants(person.token);
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: { data: both.map(entry) } });
    expect((await listTenants(host.admin.token)).body.data).toEqual([{ ...entry(host), current: true }]);
  });

  it('200: no tenant where the caller is invited or suspended, and no suspended tenant', async () => {
    const { home, host, person, guestId } = await createGuest();
    const third = await createTenant(test);
    const body = { email: person.email };
    await test.call('POST', '/api/v1/secure/users/invite', { token: third.admin.token, body });
    const ids = async () => (await listTenants(person.token)).body.data.map(({ id }: { id: string }) => id);
    expect((await ids()).toSorted()).toEqual([home.tenantId, host.tenantId].toSorted());
    await setUserStatus(host, guestId, 'suspended');
    expect(await ids()).toEqual([home.tenantId]);
    await setUserStatus(host, guestId, 'active');
    expect(await ids()).toHaveLength(2);
    await setTenantStatus(host, 'suspended');
    expect(await ids()).toEqual([home.tenantId]);
  });

  it('200: a system administrator who names a tenant still sees the caller’s tenants', async () => {
    const { tenantId } = await createTenant(test);
    const { token } = await logInSystemAdmin(test);
    const answer = await test.call('GET', '/api/v1/auth/tenants', { token, headers: { 'x-tenant-id': tenantId } });
    expect(answer.body.data).toEqual([{ id: systemTenantId, name: 'System', domain: 'system', current: true }]);
  });

  it('401: without credentials', async () => {
    expectError(await test.call('GET', '/api/v1/auth/tenants'), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('switchTenant', () => {
  it('200: a session in the other tenant, like a login; the old one remains, and it is recorded there', async () => {
    const { home, host, person, guestId } = await createGuest();
    const answer = await switchTo(person.token, host.tenantId.toUpperCase());
    expect(answer.status).toBe(200);
    const login = await post(test, 'login', { ...credentials(person), tenantId: host.tenantId });
    expect(Object.keys(answer.body)).toEqual(Object.keys(login.body));
    expect(answer.body.user).toEqual(login.body.user);
    expect(answer.body.user).toMatchObject({ id: guestId, tenantId: host.tenantId });
    const { accessToken, refreshToken } = answer.body;
    expect((await listTenants(accessToken)).body.data.find((one: any) => one.current).id).toBe(host.tenantId);
    expect((await post(test, 'refresh', { refreshToken })).status).toBe(200);
    expect(await statusOf(test, person.token)).toBe(200);
    const [entry] = await auditOf(test, host.admin, 'auth.login');
    expect(entry!.user_id).toBe(guestId);
    expect(await auditOf(test, home.admin, 'auth.login')).not.toContainEqual(
      expect.objectContaining({ user_id: guestId }),
    );
    expectNoSecrets(test, [accessToken, refreshToken]);
  });

  it('200: into the same tenant, as another session', async () => {
    const person = await createMember(test, await createTenant(test));
    const { tenantId } = (await post(test, 'login', credentials(person))).body.user;
    const answer = await switchTo(person.token, tenantId);
    expect(answer.body.user.id).toBe(person.userId);
    expect(await sessionsOf(person.token)).toHaveLength(3);
  });

  it('200: keeps the assurance of the session, and nothing else', async () => {
    const { host, person } = await createGuest();
    const accountId = await accountOf(person);
    await enrol(accountId);
    test.service.services.principals.forget(`account:${accountId}`);
    expectError(await switchTo(person.token, host.tenantId), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_REQUIRED');
    await sql('update sessions set assurance = 2, assurance_account_wide = true where account_id = $1', accountId);
    test.service.services.principals.forget(`account:${accountId}`);
    const { accessToken } = (await switchTo(person.token, host.tenantId)).body;
    expect((await listTenants(accessToken)).status).toBe(200);
  });

  it('200: ends no later than the previous session', async () => {
    const { host, person } = await createGuest();
    const { email, password } = person;
    for (const rememberMe of [false, true]) {
      const login = await post(test, 'login', { email, password, rememberMe, tenantId: host.tenantId });
      const [before] = await sessionsOf(login.body.accessToken);
      const max = rememberMe ? 30 : 7;
      let pair = login.body;
      for (let days = 0; days < max - 1; days += 0.9) {
        clock.advance(0.9 * day);
        pair = (await post(test, 'refresh', { refreshToken: pair.refreshToken })).body;
      }
      const { accessToken } = (await switchTo(pair.accessToken, host.tenantId)).body;
      const own = (await sessionsOf(accessToken)).find(({ current }) => current);
      expect(Date.parse(own!.expires_at) - Date.parse(before!.created_at)).toBe(max * day);
      expect(Date.parse(own!.expires_at)).toBeLessThan(clock.now().getTime() + 2 * day);
    }
  });

  it.each([
    ['no tenant', {}],
    ['an invalid id', { tenantId: 'acme' }],
    ['null', { tenantId: null }],
    ['something else too', { tenantId: newId(), rememberMe: true }],
  ])('400: %s', async (_what, body) => {
    const { admin } = await createTenant(test);
    const answer = await test.call('POST', '/api/v1/auth/switch-tenant', { token: admin.token, body });
    expectError(answer, 400, 'VALIDATION_ERROR');
  });

  it('401: without credentials, and with an ended session', async () => {
    const { host, person } = await createGuest();
    const body = { tenantId: host.tenantId };
    expectError(await test.call('POST', '/api/v1/auth/switch-tenant', { body }), 401, 'AUTHENTICATION_ERROR');
    await post(test, 'logout', undefined, { token: person.token });
    expectError(await switchTo(person.token, host.tenantId), 401, 'INVALID_TOKEN');
  });

  it('404: not a user, only invited, suspended there, or a suspended tenant, like an unknown id', async () => {
    const { host, person, guestId } = await createGuest();
    const [foreign, inviting, closed] = [await createTenant(test), await createTenant(test), await createTenant(test)];
    const body = { email: person.email };
    await test.call('POST', '/api/v1/secure/users/invite', { token: inviting.admin.token, body });
    await joinTenant(test, closed, person);
    await setTenantStatus(closed, 'suspended');
    await setUserStatus(host, guestId, 'suspended');
    const ids = [newId(), foreign.tenantId, inviting.tenantId, closed.tenantId, host.tenantId, systemTenantId];
    const answers = [];
    for (const id of ids) answers.push(await switchTo(person.token, id));
    for (const answer of answers) expectError(answer, 404, 'NOT_FOUND');
    expect(new Set(answers.map(comparable)).size).toBe(1);
    await setUserStatus(host, guestId, 'active');
    expect((await switchTo(person.token, host.tenantId)).status).toBe(200);
  });

  it('leaves no session if the password changes concurrently', async () => {
    for (let round = 0; round < 5; round++) {
      const { host, person } = await createGuest();
      const own = await logIn(test, { ...credentials(person), tenantId: host.tenantId });
      const body = { currentPassword: person.password, newPassword: 'another horse' };
      const changing = test.call('POST', '/api/v1/auth/change-password', { token: own.token, body });
      const answers = await Promise.all(Array.from({ length: 10 }, () => switchTo(person.token, host.tenantId)));
      expect((await changing).status).toBe(200);
      for (const answer of answers.filter(({ status }) => status === 200)) {
        expect(await statusOf(test, answer.body.accessToken)).toBe(401);
      }
      expect(await statusOf(test, own.token)).toBe(200);
    }
  });
});

describe('login of a person with several tenants who is suspended in some', () => {
  let person: Awaited<ReturnType<typeof createPersonOfTwo>>;
  let userId: string;

  beforeAll(async () => {
    clock.advance(hour + minute);
    person = await createPersonOfTwo(test);
    const { email, password, first } = person;
    userId = (await logIn(test, { email, password, tenantId: first.tenantId })).userId;
  });

  const login = () => post(test, 'login', { email: person.email, password: person.password });

  it('goes straight to the remaining one, and offers both again afterwards', async () => {
    await setUserStatus(person.first, userId, 'suspended');
    expect((await login()).body.user.tenantId).toBe(person.second.tenantId);
    await setUserStatus(person.first, userId, 'active');
    expect((await login()).body.tenants).toHaveLength(2);
  });

  it('offers only the remaining ones', async () => {
    const { email, password, first, second } = person;
    const third = await createTenant(test);
    await joinTenant(test, third, await logIn(test, { email, password, tenantId: first.tenantId }));
    await setUserStatus(first, userId, 'suspended');
    const ids = (await login()).body.tenants.map(({ id }: { id: string }) => id);
    expect(ids.toSorted()).toEqual([second.tenantId, third.tenantId].toSorted());
    await setUserStatus(first, userId, 'active');
  });

  it('401: if none remains, like for a wrong password', async () => {
    const { email, password, second } = person;
    const guest = await logIn(test, { email, password, tenantId: second.tenantId });
    for (const { id } of (await listTenants(guest.token)).body.data) {
      await sql("update users set status = 'suspended' where tenant_id = $1 and email = $2", id, email);
    }
    expectError(await login(), 401, 'AUTHENTICATION_ERROR');
  });
});

const credentials = ({ email, password }: Person) => ({ email, password });

function sql(text: string, ...values: unknown[]) {
  const [tenantId] = values as string[];
  const db = text.startsWith('update users')
    ? test.service.services.database.tenant(tenantId!)
    : test.service.services.database.credential();
  return db.interactive.all<any>({ kind: 'write', text, values, prepare: false });
}

async function accountOf({ email }: Person): Promise<string> {
  const [account] = await sql('select id from accounts where email = $1', email);
  return account.id;
}

/** As if the user had enrolled an authenticator app. */
async function enrol(accountId: string): Promise<void> {
  await sql(
    `insert into two_factor_methods (account_id, method, secret, enabled_at, created_at) values ($1, 'totp', 'x', now(), now())`,
    accountId,
  );
}
