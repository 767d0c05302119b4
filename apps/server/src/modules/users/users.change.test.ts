import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { mailedToken, post } from '#modules/auth/testing/steps';
import {
  createMember,
  createTenant,
  joinTenant,
  logIn,
  proveAddress,
  unique,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService, type Answer, strictlyLater } from '#test/support/harness';

const test = useService({ now: strictlyLater() });
const path = '/api/v1/secure/users';
let tenant: Tenant;
let token: string;
let stranger: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  stranger = (await createTenant(test)).admin.token;
});

const patch = (id: string, body: unknown, by = token): Promise<Answer> =>
  test.call('PATCH', `${path}/${id}`, { token: by, body });
const remove = (id: string, by = token): Promise<Answer> => test.call('DELETE', `${path}/${id}`, { token: by });
const read = async (id: string): Promise<Record<string, any>> =>
  (await test.call('GET', `${path}/${id}`, { token })).body.data;
const login = ({ email, password }: Person): Promise<Answer> =>
  test.call('POST', '/api/v1/public/auth/login', { body: { email, password } });
const refresh = ({ refreshToken }: Person): Promise<Answer> =>
  test.call('POST', '/api/v1/public/auth/refresh', { body: { refreshToken } });
const me = ({ token: own }: Person): Promise<Answer> => test.call('GET', '/api/v1/auth/me', { token: own });

describe('updateUser', () => {
  it('422: only the invited person activates the user', async () => {
    const created = await test.call('POST', path, { token, body: { email: `${unique('invited')}@example.com` } });
    expect(created.body.data.status).toBe('invited');
    const change = (body: object) => test.call('PATCH', `${path}/${created.body.data.id}`, { token, body });
    expectError(await change({ status: 'active' }), 422, 'UNPROCESSABLE_ENTITY', 'USER_NOT_JOINED');
    expectError(await change({ status: 'suspended' }), 422, 'UNPROCESSABLE_ENTITY', 'USER_NOT_JOINED');
    expectError(
      await change({ status: 'suspended', displayName: 'x' }),
      422,
      'UNPROCESSABLE_ENTITY',
      'USER_NOT_JOINED',
    );
    expect((await change({ displayName: 'Soon here' })).body.data).toMatchObject({ status: 'invited' });
  });

  it.each([
    ['displayName', 'Ada'],
    ['fullName', 'x'.repeat(255)],
    ['locale', 'fr'],
    ['isTenantAdmin', true],
    ['status', 'suspended'],
  ])('200: changes %s and nothing else', async (field, value) => {
    const { userId } = await createMember(test, tenant);
    const before = await read(userId);
    const changed = await patch(userId, { [field]: value });
    expect(changed.status).toBe(200);
    expect(changed.body.data).toEqual({ ...before, [field]: value, updated_at: expect.any(String) });
    expect(changed.body.data.updated_at > before.updated_at).toBe(true);
    expect(await read(userId)).toEqual(changed.body.data);
  });

  it('200: an empty patch changes nothing, not even the time', async () => {
    const { userId } = await createMember(test, tenant);
    const before = await read(userId);
    expect(await patch(userId, {})).toMatchObject({ status: 200, body: { data: before } });
  });

  it.each(['as it is', 'in capitals'])(
    '200: who is suspended is out with the next request, id %s',
    async (spelling) => {
      const member = await createMember(test, tenant);
      expect((await me(member)).status).toBe(200);
      const id = spelling === 'as it is' ? member.userId : member.userId.toUpperCase();
      expect((await patch(id, { status: 'suspended' })).status).toBe(200);
      expectError(await me(member), 401, 'INVALID_TOKEN');
      expectError(await refresh(member), 401, 'INVALID_TOKEN');
      expectError(await login(member), 401, 'AUTHENTICATION_ERROR');
      expect((await patch(id, { status: 'active' })).status).toBe(200);
      expect((await login(member)).status).toBe(200);
    },
  );

  it('200: permissions change with the next request', async () => {
    const member = await createMember(test, tenant);
    const users = () => test.call('GET', path, { token: member.token });
    expect((await users()).status).toBe(403);
    await patch(member.userId, { isTenantAdmin: true });
    expect((await users()).status).toBe(200);
    await patch(member.userId.toUpperCase(), { isTenantAdmin: false });
    expect((await users()).status).toBe(403);
  });

  it.each([
    ['an unknown status', { status: 'deleted' }],
    ['a status that only the service gives', { status: 'invited' }],
    ['the address', { email: 'new@example.com' }],
    ['a password', { password: 'correct horse' }],
    ['an empty name', { displayName: '' }],
    ['a name of 256 characters', { fullName: 'x'.repeat(256) }],
    ['null', { displayName: null }],
    ['a locale with a region', { locale: 'de-DE' }],
    ['no body', undefined],
  ])('400: %s', async (_what, body) => {
    expectError(await patch(tenant.admin.userId, body), 400, 'VALIDATION_ERROR');
  });

  it('400, 401, 403: no uuid, no credentials, a plain member', async () => {
    const member = await createMember(test, tenant);
    expectError(await patch('me', {}), 400, 'VALIDATION_ERROR');
    expectError(await test.call('PATCH', `${path}/${member.userId}`, { body: {} }), 401, 'AUTHENTICATION_ERROR');
    expectError(await patch(member.userId, { displayName: 'Me' }, member.token), 403, 'AUTHORIZATION_ERROR');
  });

  it.each([{}, { displayName: 'x' }])("404: an unknown and another tenant's user, %j", async (body) => {
    const { userId } = await createMember(test, tenant);
    expectError(await patch(newId(), body), 404, 'NOT_FOUND');
    expectError(await patch(userId, body, stranger), 404, 'NOT_FOUND');
  });

  it('422: a locale that is not a language of the tenant; 200 for an unchanged one', async () => {
    const own = await createTenant(test);
    const by = own.admin.token;
    const { userId } = await createMember(test, own);
    const speak = (languages: string[]) =>
      test.call('PATCH', `/api/v1/secure/tenants/${own.tenantId}`, { token: by, body: { languages } });
    const refused = await patch(userId, { locale: 'nl', displayName: 'Kept' }, by);
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'LOCALE_NOT_OFFERED');
    await speak(['en', 'nl']);
    expect((await patch(userId, { locale: 'nl' }, by)).body.data.locale).toBe('nl');
    await speak(['en']);
    expect((await patch(userId, { locale: 'nl', displayName: 'Same' }, by)).status).toBe(200);
  });

  it('422: a user manager cannot appoint, update, suspend or delete an administrator', async () => {
    const manager = await createMember(test, tenant, { permissions: ['users.manage', 'users.read'] });
    const admin = await createMember(test, tenant, { isTenantAdmin: true });
    const member = await createMember(test, tenant);
    for (const answer of [
      await patch(manager.userId, { isTenantAdmin: true }, manager.token),
      await patch(member.userId, { isTenantAdmin: true }, manager.token),
      await patch(admin.userId, { displayName: 'Renamed' }, manager.token),
      await patch(admin.userId, { status: 'suspended' }, manager.token),
      await patch(admin.userId, { isTenantAdmin: false }, manager.token),
      await remove(admin.userId, manager.token),
    ]) {
      expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'ROLE_ABOVE_OWN');
    }
    expect(await read(admin.userId)).toMatchObject({ isTenantAdmin: true, status: 'active' });
    expect((await patch(member.userId, { displayName: 'Renamed' }, manager.token)).status).toBe(200);
  });
});

describe('updateUser and deleteUser of a user with more permissions than the caller', () => {
  it('422: any missing permission; 200 with the same permissions, or as an administrator', async () => {
    const manager = await createMember(test, tenant, { permissions: ['users.manage', 'users.read'] });
    const above = await createMember(test, tenant, { permissions: ['users.read', 'spaces.manage'] });
    const equal = await createMember(test, tenant, { permissions: ['users.manage'] });
    const before = await read(above.userId);
    for (const body of [
      { status: 'suspended' },
      { status: 'active' },
      { isTenantAdmin: false },
      { displayName: 'Renamed' },
      { fullName: 'Renamed' },
      { locale: 'fr' },
    ]) {
      const refused = await patch(above.userId, body, manager.token);
      expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'ROLE_ABOVE_OWN');
      expect(refused.body.details.missing).toEqual(['spaces.manage']);
    }
    const refused = await remove(above.userId.toUpperCase(), manager.token);
    expectError(refused, 422, 'UNPROCESSABLE_ENTITY', 'ROLE_ABOVE_OWN');
    expect(await read(above.userId)).toEqual(before);
    expect((await me(above)).status).toBe(200);

    expect((await patch(equal.userId, { displayName: 'Renamed' }, manager.token)).status).toBe(200);
    expect((await patch(manager.userId, { displayName: 'Me' }, manager.token)).status).toBe(200);
    expect((await remove(equal.userId, manager.token)).status).toBe(204);
    expect((await patch(above.userId, { status: 'suspended' })).status).toBe(200);
    expect((await remove(above.userId)).status).toBe(204);
  });

  it('200: after the groups with the missing permissions are deleted', async () => {
    const manager = await createMember(test, tenant, { permissions: ['users.manage', 'users.read'] });
    const member = await createMember(test, tenant);
    const body = { name: unique('group'), permissions: ['spaces.manage'] };
    const group = (await test.call('POST', '/api/v1/secure/groups', { token, body })).body.data.id;
    const url = `/api/v1/secure/groups/${group}/members`;
    await test.call('POST', url, { token, body: { userId: member.userId } });
    const suspend = () => patch(member.userId, { status: 'suspended' }, manager.token);
    expectError(await suspend(), 422, 'UNPROCESSABLE_ENTITY', 'ROLE_ABOVE_OWN');
    await test.call('DELETE', `${url}/${member.userId}`, { token });
    expect((await suspend()).status).toBe(200);
  });
});

describe('deleteUser', () => {
  it.each(['as it is', 'in capitals'])('204: refused with the next request, and deleted, id %s', async (spelling) => {
    const member = await createMember(test, tenant, { permissions: ['users.read'] });
    expect((await me(member)).status).toBe(200);
    const id = spelling === 'as it is' ? member.userId : member.userId.toUpperCase();
    const deleted = await remove(id);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expectError(await me(member), 401, 'INVALID_TOKEN');
    expectError(await refresh(member), 401, 'INVALID_TOKEN');
    expectError(await login(member), 401, 'AUTHENTICATION_ERROR');
    expectError(await test.call('GET', `${path}/${id}`, { token }), 404, 'NOT_FOUND');
    expectError(await patch(id, { displayName: 'x' }), 404, 'NOT_FOUND');
    expectError(await remove(id), 404, 'NOT_FOUND');
  });

  it('204: other tenants and the account remain', async () => {
    const [member, other] = [await createMember(test, tenant), await createTenant(test)];
    await joinTenant(test, other, member);
    expect((await remove(member.userId)).status).toBe(204);
    expect((await login(member)).body.user.tenantId).toBe(other.tenantId);
  });

  it('204: a deleted person can be added again, as a new user without the earlier permissions', async () => {
    const member = await createMember(test, tenant, { permissions: ['users.read'] });
    await proveAddress(test, member.email);
    expect((await remove(member.userId)).status).toBe(204);
    const again = await test.call('POST', path, { token, body: { email: member.email, password: 'ignored, has one' } });
    expect(again.status).toBe(201);
    expect(again.body.data).toMatchObject({ status: 'invited', groups: [], isTenantAdmin: false });
    expect(again.body.data.id).not.toBe(member.userId);
    expect((await post(test, 'accept-invitation', { token: await mailedToken(test, member.email) })).status).toBe(200);
    const back = await logIn(test, { email: member.email, password: member.password });
    expect(back.userId).toBe(again.body.data.id);
    expectError(await test.call('GET', path, { token: back.token }), 403, 'AUTHORIZATION_ERROR');
    expectError(await me(member), 401, 'INVALID_TOKEN');
    expect((await remove(back.userId)).status).toBe(204);
    expect((await test.call('POST', path, { token, body: { email: member.email } })).status).toBe(201);
  });

  it('204: exactly one of 20 concurrent requests deletes', async () => {
    const { userId } = await createMember(test, tenant);
    const answers = await Promise.all(Array.from({ length: 20 }, () => remove(userId)));
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(19);
  });

  it('400, 401, 403: no uuid, no credentials, a plain member', async () => {
    const member = await createMember(test, tenant);
    expectError(await remove('me'), 400, 'VALIDATION_ERROR');
    expectError(await test.call('DELETE', `${path}/${member.userId}`), 401, 'AUTHENTICATION_ERROR');
    expectError(await remove(member.userId, member.token), 403, 'AUTHORIZATION_ERROR');
  });

  it("404: an unknown and another tenant's user", async () => {
    const { userId } = await createMember(test, tenant);
    expectError(await remove(newId()), 404, 'NOT_FOUND');
    expectError(await remove(userId, stranger), 404, 'NOT_FOUND');
    expect((await read(userId)).id).toBe(userId);
  });
});
