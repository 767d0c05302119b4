import { beforeAll, describe, expect, it } from 'vitest';

import { auditOf } from '#modules/auth/testing/steps';
import { appOf, keyOf } from '#test/support/directory';
import {
  createMember,
  createTenant,
  joinTenant,
  logIn,
  logInSystemAdmin,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, strictlyLater, useService, type Answer, type Call } from '#test/support/harness';

const test = useService({ now: strictlyLater() });
const profile = '/api/v1/secure/profile';
const users = '/api/v1/secure/users';
let tenant: Tenant;
let member: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  member = await createMember(test, tenant);
});

const read = (call: Call = { token: member.token }): Promise<Answer> => test.call('GET', profile, call);
const patch = (body: unknown, call: Call = { token: member.token }): Promise<Answer> =>
  test.call('PATCH', profile, { ...call, body });
const readUser = (id: string) => test.call('GET', `${users}/${id}`, { token: tenant.admin.token });

describe('getProfile', () => {
  it('200: the names in the tenant, without phone and time zone at first', async () => {
    const person = await createMember(test, tenant);
    const { displayName, fullName } = (await readUser(person.userId)).body.data;
    const answer = await read({ token: person.token });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ data: { displayName, fullName, locale: 'en', phone: null, timezone: null } });
  });

  it('200: the profile of the home tenant, also while a system administrator acts in another one', async () => {
    const { token } = await logInSystemAdmin(test);
    const there = await read({ token, headers: { 'x-tenant-id': tenant.tenantId } });
    expect(there.status).toBe(200);
    expect(there.body).toEqual((await read({ token })).body);
  });

  it('401, 403: no credentials, API keys and app accounts', async () => {
    expectError(await read({}), 401, 'AUTHENTICATION_ERROR');
    const flags = { users: { read: true } };
    expectError(await read(await keyOf(test, tenant, flags)), 403, 'AUTHORIZATION_ERROR');
    expectError(await read(await appOf(test, tenant, flags)), 403, 'AUTHORIZATION_ERROR');
  });
});

describe('updateProfile', () => {
  it.each([
    [{ displayName: 'Ada' }],
    [{ fullName: 'Ada King' }],
    [{ locale: 'fr' }],
    [{ phone: '+43660123456' }],
    [{ phone: null }],
    [{ displayName: 'x'.repeat(255), fullName: 'Ö', locale: 'de', phone: '+1234567' }],
  ])('200: changes %j and nothing else', async (body) => {
    const before = (await read()).body.data;
    const user = (await readUser(member.userId)).body.data;
    const changed = await patch(body);
    expect(changed).toMatchObject({ status: 200, body: { data: { ...before, ...body } } });
    expect(await read()).toMatchObject({ status: 200, body: changed.body });
    const after = (await readUser(member.userId)).body.data;
    expect(after).toEqual({ ...user, ...body, updated_at: after.updated_at });
    expect(after.updated_at > user.updated_at).toBe(true);
  });

  it('200: a phone number in any spelling, stored as E.164', async () => {
    for (const phone of ['+43 (660) 123-456', '(+43) 660.123.456', ' +43 660 123 456 '])
      expect((await patch({ phone })).body.data.phone).toBe('+43660123456');
  });

  it('200: a time zone in any spelling, and null', async () => {
    const before = (await read()).body.data;
    const changed = await patch({ timezone: 'europe/BERLIN' });
    expect(changed).toMatchObject({ status: 200, body: { data: { ...before, timezone: 'Europe/Berlin' } } });
    expect((await patch({ displayName: 'Ada' })).body.data.timezone).toBe('Europe/Berlin');
    expect((await patch({ timezone: null })).body.data.timezone).toBeNull();
  });

  it('200: /auth/me follows the locale and the name', async () => {
    await patch({ locale: 'it', displayName: 'Adele' });
    const own = await test.call('GET', '/api/v1/auth/me', { token: member.token });
    expect(own.body.data).toMatchObject({ locale: 'it', displayName: 'Adele' });
  });

  it('200: an empty patch changes nothing and is not recorded', async () => {
    const person = await createMember(test, tenant);
    const before = (await readUser(person.userId)).body;
    expect((await patch({}, { token: person.token })).status).toBe(200);
    expect((await readUser(person.userId)).body).toEqual(before);
    const trail = await auditOf(test, tenant.admin, 'profile.updated');
    expect(trail.filter(({ resource_id: id }) => id === person.userId)).toEqual([]);
  });

  it('200: recorded with the names of the fields, never with their values', async () => {
    const person = await createMember(test, tenant);
    await patch({ phone: '+43660999888', fullName: 'Canary' }, { token: person.token });
    const trail = await auditOf(test, tenant.admin, 'profile.updated');
    const rows = trail.filter(({ resource_id: id }) => id === person.userId);
    expect(rows).toMatchObject([{ user_id: person.userId, details: { fields: ['phone', 'fullName'] } }]);
    expect(JSON.stringify(rows)).not.toMatch(/660999888|Canary/);
  });

  it('200: changes one tenant, not the others of the user', async () => {
    const other = await createTenant(test);
    const person = await createMember(test, tenant);
    await joinTenant(test, other, person);
    const { email, password } = person;
    const there = await logIn(test, { email, password, tenantId: other.tenantId });
    const before = (await read({ token: there.token })).body;
    await patch({ phone: '+43660111222', displayName: 'Here only' }, { token: person.token });
    expect((await read({ token: there.token })).body).toEqual(before);
  });

  it('200: a system administrator who acts in a tenant changes the profile of the home tenant', async () => {
    const root = await logInSystemAdmin(test);
    const headers = { 'x-tenant-id': tenant.tenantId };
    const { displayName } = (await read({ token: root.token })).body.data;
    expect((await patch({ displayName }, { token: root.token, headers })).status).toBe(200);
    const here = await auditOf(test, tenant.admin, 'profile.updated');
    expect(here.filter(({ user_id: id }) => id === root.userId)).toEqual([]);
    const home = await auditOf(test, root, 'profile.updated');
    expect(home.find(({ user_id: id }) => id === root.userId)!.details.actor).toEqual({
      type: 'user',
      id: root.userId,
    });
  });

  it.each([
    ['a phone without +', { phone: '43660123456' }],
    ['a phone that begins with 0', { phone: '+0660123456' }],
    ['a phone of 6 digits', { phone: '+436601' }],
    ['a phone of 16 digits', { phone: '+1234567890123456' }],
    ['a phone of 41 characters', { phone: `+43660123${' '.repeat(31)}4` }],
    ['letters in a phone', { phone: '+43660CALLME' }],
    ['a phone over two lines', { phone: '+43660\n123456' }],
    ['digits of another script', { phone: '+٤٣٦٦٠١٢٣٤٥٦' }],
    ['an empty phone', { phone: '' }],
    ['a number for a phone', { phone: 43660123456 }],
    ['a blank name', { displayName: ' ' }],
    ['a name of 256 characters', { fullName: 'x'.repeat(256) }],
    ['a name over two lines', { fullName: 'Ada\nKing' }],
    ['null for a name', { displayName: null }],
    ['an offset for a time zone', { timezone: '+02:00' }],
    ['a time zone that does not exist', { timezone: 'Europe/Atlantis' }],
    ['an empty time zone', { timezone: '' }],
    ['a time zone of 65 characters', { timezone: 'x'.repeat(65) }],
    ['null for the locale', { locale: null }],
    ['a locale of 3 letters', { locale: 'deu' }],
    ['a locale with its country', { locale: 'de-AT' }],
    ['the address', { email: 'other@example.com' }],
    ['the status', { status: 'active' }],
    ['the role', { isTenantAdmin: true }],
    ['an id', { id: 'x' }],
    ['a list', []],
    ['no body', undefined],
  ])('400: %s', async (_what, body) => {
    const before = (await readUser(member.userId)).body;
    expectError(await patch(body), 400, 'VALIDATION_ERROR');
    expect((await readUser(member.userId)).body).toEqual(before);
  });

  it('401, 403: no credentials, API keys and app accounts', async () => {
    expectError(await patch({}, {}), 401, 'AUTHENTICATION_ERROR');
    const flags = { users: { read: true } };
    expectError(await patch({}, await keyOf(test, tenant, flags)), 403, 'AUTHORIZATION_ERROR');
    expectError(await patch({}, await appOf(test, tenant, flags)), 403, 'AUTHORIZATION_ERROR');
  });

  it('422: a locale that is not a language of the tenant; 200 for an added language and an unchanged locale', async () => {
    const own = await createTenant(test);
    const call = { token: own.admin.token };
    const speak = (languages: string[]) =>
      test.call('PATCH', `/api/v1/secure/tenants/${own.tenantId}`, { ...call, body: { languages } });
    expectError(await patch({ locale: 'nl' }, call), 422, 'UNPROCESSABLE_ENTITY', 'LOCALE_NOT_OFFERED');
    expect((await read(call)).body.data.locale).toBe('en');
    await speak(['en', 'nl']);
    expect((await patch({ locale: 'nl' }, call)).body.data.locale).toBe('nl');
    await speak(['en']);
    expect((await patch({ locale: 'nl', displayName: 'Same' }, call)).status).toBe(200);
    expect((await patch({ locale: 'es' }, call)).body.data.locale).toBe('es');
    expectError(await patch({ locale: 'nl' }, call), 422, 'UNPROCESSABLE_ENTITY', 'LOCALE_NOT_OFFERED');
  });

  it('50 concurrent changes are each recorded once, and the last one remains', async () => {
    const person = await createMember(test, tenant);
    const phones = Array.from({ length: 50 }, (_, at) => `+436601234${String(at).padStart(2, '0')}`);
    const answers = await Promise.all(phones.map((phone) => patch({ phone }, { token: person.token })));
    expect(answers.map(({ status }) => status)).toEqual(phones.map(() => 200));
    expect(phones).toContain((await read({ token: person.token })).body.data.phone);
    const trail = await auditOf(test, tenant.admin, 'profile.updated');
    expect(trail.filter(({ resource_id: id }) => id === person.userId)).toHaveLength(50);
  });
});

describe('the phone of a user', () => {
  it('is set and cleared by holders of users.manage, in the same form', async () => {
    const manager = await createMember(test, tenant, { permissions: ['users.manage', 'users.read'] });
    const change = (phone: unknown) =>
      test.call('PATCH', `${users}/${member.userId}`, { token: manager.token, body: { phone } });
    expect((await change('+43 660 555')).body.data.phone).toBe('+43660555');
    expect((await read()).body.data.phone).toBe('+43660555');
    expectError(await change('0660 555'), 400, 'VALIDATION_ERROR');
    expect((await change(null)).body.data.phone).toBeNull();
    expectError(
      await test.call('PATCH', `${users}/${member.userId}`, { token: member.token, body: { phone: null } }),
      403,
      'AUTHORIZATION_ERROR',
    );
  });
});
