import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createClock, minute } from '#modules/auth/testing/steps';
import {
  createAppAccount,
  createMember,
  createTenant,
  unique,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const path = '/api/v1/secure/app-accounts';
const future = () => new Date(clock.now().getTime() + minute).toISOString();
const past = () => new Date(clock.now().getTime() - 1).toISOString();

let tenant: Tenant;
let token: string;
let manager: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
  manager = await createMember(test, tenant, {
    permissions: ['app_accounts.read', 'app_accounts.manage', 'spaces.manage'],
  });
});

const newEmail = () => `${unique('app')}@${tenant.domain}.example`;
const body = () => ({ name: 'Door display', email: newEmail(), password: 'correct horse battery' });
const create = (sent: object, by = token) => test.call('POST', path, { token: by, body: sent });
const patch = (id: string, changes: object, by = token) =>
  test.call('PATCH', `${path}/${id}`, { token: by, body: changes });
const read = async (id: string) => (await test.call('GET', `${path}/${id}`, { token })).body.data;

const aboveOwn = ['UNPROCESSABLE_ENTITY', 'PERMISSIONS_ABOVE_OWN'] as const;

describe('createAppAccount', () => {
  it('201: returns the exact record, and the same when it is read', async () => {
    const email = newEmail();
    const expiresAt = future();
    const permissions = {
      resources: { read: true, write: false, properties: ['serial'] },
      spaces: { read: true },
      geo: {},
      calendar: { events: true },
      users: { read: true },
    };
    const sent = { ...body(), email, description: 'Room 1', permissions, expires_at: expiresAt };
    const answer = await create(sent);
    expect(answer.status).toBe(201);
    const { id } = answer.body.data;
    expect(answer.body).toEqual({
      data: {
        id,
        tenant_id: tenant.tenantId,
        auth_user_id: id,
        name: 'Door display',
        email,
        description: 'Room 1',
        permissions,
        status: 'active',
        expires_at: expiresAt,
        last_used_at: null,
        created_by: tenant.admin.userId,
        created_at: expect.any(String),
        updated_at: answer.body.data.created_at,
      },
    });
    expect(await read(id)).toEqual(answer.body.data);
    expect(await read(id.toUpperCase())).toEqual(answer.body.data);
  });

  it('201: with the required fields only', async () => {
    const answer = await create(body());
    expect(answer.body.data).toMatchObject({ description: null, permissions: {}, expires_at: null });
  });

  it('201: the address in its normalised form', async () => {
    const email = newEmail();
    const answer = await create({ ...body(), email: email.toUpperCase().replace('APP', 'ＡＰＰ') });
    expect(answer.body.data.email).toBe(email);
  });

  it.each([
    ['a name of 1 character', { name: 'x' }],
    ['a name of 100 characters', { name: '😀'.repeat(100) }],
    ['a password of 12 characters', { password: '😀'.repeat(12) }],
    ['a password of 256 characters', { password: 'x'.repeat(256) }],
    ['an empty description', { description: '' }],
    ['a description of 500 characters', { description: 'x'.repeat(500) }],
    ['an expiry with an offset and small letters', { expires_at: '2100-01-01t00:00:00.5+02:00' }],
    [
      '200 properties',
      { permissions: { resources: { properties: Array.from({ length: 200 }, (_, at) => `p${at}`) } } },
    ],
    ['a property of 200 characters', { permissions: { resources: { properties: ['x'.repeat(200)] } } }],
  ])('201: %s', async (_what, change: object) => {
    const { password: _password, expires_at: _expiry, ...shown } = change as Record<string, unknown>;
    const answer = await create({ ...body(), ...change });
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject(shown);
  });

  it.each([
    ['no name', { name: undefined }],
    ['an empty name', { name: '' }],
    ['a name of blanks', { name: ' ' }],
    ['a name of 101 characters', { name: 'x'.repeat(101) }],
    ['no address', { email: undefined }],
    ['an address without domain', { email: 'app@' }],
    ['an address that turns into two', { email: 'a＠b.example@person.example' }],
    ['an address of 255 characters', { email: `${'x'.repeat(64)}@${'y'.repeat(60)}.${'z.'.repeat(64)}aa` }],
    ['no password', { password: undefined }],
    ['a password of 11 characters', { password: 'x'.repeat(11) }],
    ['11 characters in 22 code units', { password: '😀'.repeat(11) }],
    ['12 characters that are 6 once they are composed', { password: 'e\u0301'.repeat(6) }],
    ['a password of 257 characters', { password: 'x'.repeat(257) }],
    ['a description of 501 characters', { description: 'x'.repeat(501) }],
    ['null for the description', { description: null }],
    ['null for the expiry', { expires_at: null }],
    ['an expiry that is not a time', { expires_at: 'tomorrow' }],
    ['a status', { status: 'active' }],
    ['an unknown section', { permissions: { tags: { read: true } } }],
    ['an unknown flag', { permissions: { users: { write: true } } }],
    ['a flag that is not a boolean', { permissions: { users: { read: 'true' } } }],
    ['null for a section', { permissions: { users: null } }],
    ['properties beyond resources', { permissions: { spaces: { properties: [] } } }],
    ['a property twice', { permissions: { resources: { properties: ['serial', 'serial'] } } }],
    [
      '201 properties',
      { permissions: { resources: { properties: Array.from({ length: 201 }, (_, at) => `p${at}`) } } },
    ],
    ['a property of 201 characters', { permissions: { resources: { properties: ['x'.repeat(201)] } } }],
    ['an unknown property', { isTenantAdmin: true }],
  ])('400: %s', async (_what, change) => {
    expectError(await create({ ...body(), ...change }), 400, 'VALIDATION_ERROR');
  });

  it('409: the address of another app account of the tenant, also in other case', async () => {
    const { email } = await createAppAccount(test, tenant);
    for (const taken of [email, email.toUpperCase()])
      expectError(await create({ ...body(), email: taken }), 409, 'CONFLICT', 'EMAIL_TAKEN');
  });

  it('201: the address of a user, of a user of the tenant, or of an app account of another tenant', async () => {
    const foreign = await createTenant(test);
    const taken = [
      foreign.admin.email,
      tenant.admin.email,
      (await createAppAccount(test, foreign)).email,
      (await createAppAccount(test, foreign, { email: (await createMember(test, tenant)).email })).email,
    ];
    const free = await create(body());
    for (const email of taken) {
      const answer = await create({ ...body(), email });
      expect(answer.status).toBe(201);
      expect(Object.keys(answer.body.data)).toEqual(Object.keys(free.body.data));
    }
  });

  it('201: exactly one in each tenant of 50 concurrent requests', async () => {
    const other = await createTenant(test);
    const email = newEmail();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => create({ ...body(), email }, at % 2 === 0 ? token : other.admin.token)),
    );
    for (const half of [0, 1]) {
      // An overloaded service refuses some of them, none of which is created.
      const statuses = answers.filter((_, at) => at % 2 === half).map(({ status }) => status);
      expect(statuses.filter((status) => status !== 409 && status !== 503).length).toBeLessThanOrEqual(1);
    }
    for (const by of [token, other.admin.token]) {
      await create({ ...body(), email }, by);
      const { body: list } = await test.call('GET', path, { token: by });
      expect(list.data.filter((one: { email: string }) => one.email === email)).toHaveLength(1);
    }
  });

  it('422: an expiry in the past', async () => {
    for (const expires_at of [past(), '0001-01-01T00:00:00Z'])
      expectError(await create({ ...body(), expires_at }), 422, 'UNPROCESSABLE_ENTITY', 'EXPIRES_IN_THE_PAST');
  });

  it('422: with flags that need more permissions than the caller holds', async () => {
    const permissions = { users: { read: true }, resources: { read: true, write: true }, spaces: { delete: true } };
    const answer = await create({ ...body(), permissions }, manager.token);
    expectError(answer, 422, ...aboveOwn);
    expect(answer.body.details.missing.toSorted()).toEqual(['resources.manage', 'users.read']);
  });

  it('201: with flags that the caller holds, or that every user holds', async () => {
    const permissions = {
      resources: { read: true },
      spaces: { read: true, write: true, delete: true },
      geo: { geocode: true, reverse_geocode: true },
      calendar: { free_busy: true, events: true },
      users: { read: false },
    };
    const answer = await create({ ...body(), permissions }, manager.token);
    expect(answer.status).toBe(201);
    expect(answer.body.data.permissions).toEqual(permissions);
  });
});

describe('listAppAccounts', () => {
  it('200: all of the tenant by name, or one page of them', async () => {
    const other = await createTenant(test);
    for (const name of ['beta', 'Alpha', 'gamma']) await create({ ...body(), name }, other.admin.token);
    const names = async (query: string) => {
      const answer = await test.call('GET', `${path}${query}`, { token: other.admin.token });
      expect(Object.keys(answer.body)).toEqual(['data']);
      return answer.body.data.map(({ name }: { name: string }) => name);
    };
    expect(await names('')).toEqual(['Alpha', 'beta', 'gamma']);
    expect(await names('?limit=2')).toEqual(['Alpha', 'beta']);
    expect(await names('?offset=1')).toEqual(['beta', 'gamma']);
    expect(await names('?limit=1&offset=1')).toEqual(['beta']);
    expect(await names('?offset=3')).toEqual([]);
  });

  it('200: more than a page of other lists', async () => {
    const other = await createTenant(test);
    const { database } = test.service.services;
    await database.tenant(other.tenantId).interactive.all({
      kind: 'write',
      text: `insert into app_accounts (tenant_id, id, name, email, created_at, updated_at)
        select $1::uuid, gen_random_uuid(), 'app', n || '@bulk.example', now(), now() from generate_series(1, 201) n`,
      values: [other.tenantId],
      prepare: false,
    });
    const count = async (query: string) =>
      (await test.call('GET', `${path}${query}`, { token: other.admin.token })).body.data.length;
    expect([await count(''), await count('?limit=200'), await count('?offset=1')]).toEqual([201, 200, 200]);
  });

  it.each(['limit=0', 'limit=201', 'offset=-1', 'limit=x'])('400: %s', async (query) => {
    expectError(await test.call('GET', `${path}?${query}`, { token }), 400, 'VALIDATION_ERROR');
  });
});

describe('getAppAccount', () => {
  it('404: unknown ones and those of other tenants, with the same answer', async () => {
    const { id } = await createAppAccount(test, await createTenant(test));
    for (const one of [id, newId()]) expectError(await test.call('GET', `${path}/${one}`, { token }), 404, 'NOT_FOUND');
  });

  it('400: an invalid id', async () => {
    expectError(await test.call('GET', `${path}/mine`, { token }), 400, 'VALIDATION_ERROR');
  });
});

describe('updateAppAccount', () => {
  it('200: changes only the sent fields', async () => {
    const { id } = await createAppAccount(test, tenant, { permissions: { users: { read: true } } });
    const before = await read(id);
    clock.advance(5);
    const expiresAt = future();
    const answer = await patch(id, { name: 'Kiosk', description: 'Hall', status: 'suspended', expires_at: expiresAt });
    expect(answer.status).toBe(200);
    const changes = { name: 'Kiosk', description: 'Hall', status: 'suspended', expires_at: expiresAt };
    expect(answer.body.data).toEqual({ ...before, ...changes, updated_at: expect.any(String) });
    expect(answer.body.data.updated_at > before.updated_at).toBe(true);
    expect(await read(id)).toEqual(answer.body.data);
  });

  it('200: an empty object changes nothing, also for a caller with fewer permissions', async () => {
    const { id } = await createAppAccount(test, tenant, { permissions: { users: { read: true } } });
    const before = await read(id);
    for (const by of [token, manager.token]) {
      const answer = await patch(id, {}, by);
      expect({ status: answer.status, data: answer.body.data }).toEqual({ status: 200, data: before });
    }
  });

  it('200: merges permissions, replaces properties, removes a section that is null', async () => {
    const { id } = await createAppAccount(test, tenant, {
      permissions: { resources: { read: true, properties: ['a', 'b'] }, spaces: { read: true }, users: { read: true } },
    });
    const change = { resources: { write: true, properties: ['c'] }, users: null, calendar: { events: true } };
    const answer = await patch(id, { permissions: change });
    const merged = {
      resources: { read: true, write: true, properties: ['c'] },
      spaces: { read: true },
      calendar: { events: true },
    };
    expect(answer.body.data.permissions).toEqual(merged);
    expect((await patch(id, { permissions: { geo: null } })).body.data.permissions).toEqual(merged);
  });

  it('200: 20 concurrent changes of permissions are all kept', async () => {
    const { id } = await createAppAccount(test, tenant);
    const flags = [
      ['resources', 'read'],
      ['resources', 'write'],
      ['resources', 'delete'],
      ['spaces', 'read'],
      ['spaces', 'write'],
      ['spaces', 'delete'],
      ['geo', 'geocode'],
      ['geo', 'reverse_geocode'],
      ['calendar', 'free_busy'],
      ['calendar', 'events'],
      ['users', 'read'],
    ] as const;
    for (let round = 0; round < 20; round++) {
      const value = round % 2 === 0;
      const answers = await Promise.all(
        flags.map(([section, flag]) => patch(id, { permissions: { [section]: { [flag]: value } } })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      const { permissions } = await read(id);
      expect(flags.map(([section, flag]) => permissions[section][flag])).toEqual(flags.map(() => value));
    }
  });

  it('200: an expiry in the past means now, null means never', async () => {
    const { id } = await createAppAccount(test, tenant);
    const before = clock.now().getTime();
    const expired = (await patch(id, { expires_at: '2001-01-01T00:00:00Z' })).body.data.expires_at;
    expect(Date.parse(expired)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(expired)).toBeLessThanOrEqual(clock.now().getTime());
    expect((await patch(id, { expires_at: null })).body.data.expires_at).toBeNull();
  });

  it('200: accepts every change of the status; a revoked account has no password', async () => {
    const { id } = await createAppAccount(test, tenant);
    const statuses = ['active', 'suspended', 'revoked'];
    for (const from of statuses) {
      for (const to of statuses) {
        await patch(id, { status: from });
        const answer = await patch(id, { status: to });
        expect({ from, to, status: answer.body.data.status }).toEqual({ from, to, status: to });
      }
    }
    expect(await read(id)).toMatchObject({ status: 'revoked', auth_user_id: null });
    await patch(id, { status: 'active' });
    expect(await read(id)).toMatchObject({ status: 'active', auth_user_id: null });
  });

  it.each([
    ['an empty name', { name: '' }],
    ['a name of 101 characters', { name: 'x'.repeat(101) }],
    ['null for the name', { name: null }],
    ['a description of 501 characters', { description: 'x'.repeat(501) }],
    ['null for the description', { description: null }],
    ['an unknown status', { status: 'deleted' }],
    ['null for the permissions', { permissions: null }],
    ['null for a flag', { permissions: { users: { read: null } } }],
    ['an unknown section', { permissions: { tags: null } }],
    ['an expiry that is not a time', { expires_at: '2026-02-30T00:00:00Z' }],
    ['another address', { email: 'other@example.com' }],
    ['another password', { password: 'correct horse battery' }],
    ['another owner', { auth_user_id: newId() }],
  ])('400: %s', async (_what, change) => {
    const { id } = await createAppAccount(test, tenant);
    expectError(await patch(id, change), 400, 'VALIDATION_ERROR');
  });

  it('404: unknown ones and those of other tenants, with the same answer', async () => {
    const { id } = await createAppAccount(test, await createTenant(test));
    for (const one of [id, newId()]) {
      expectError(await patch(one, { name: 'x' }), 404, 'NOT_FOUND');
      expectError(await patch(one, {}), 404, 'NOT_FOUND');
    }
  });

  it('422: an account with more permissions than the caller, before or after the change', async () => {
    const strong = await createAppAccount(test, tenant, { permissions: { users: { read: true } } });
    for (const change of [{ name: 'x' }, { status: 'suspended' }, { permissions: { users: null } }]) {
      const answer = await patch(strong.id, change, manager.token);
      expectError(answer, 422, ...aboveOwn);
      expect(answer.body.details.missing).toEqual(['users.read']);
    }
    const weak = await createAppAccount(test, tenant, { permissions: { spaces: { write: true } } });
    expectError(await patch(weak.id, { permissions: { users: { read: true } } }, manager.token), 422, ...aboveOwn);
    expect((await read(weak.id)).permissions).toEqual({ spaces: { write: true } });
    expect((await patch(weak.id, { permissions: { spaces: null } }, manager.token)).status).toBe(200);
  });
});

describe('deleteAppAccount', () => {
  const remove = (id: string, by = token) => test.call('DELETE', `${path}/${id}`, { token: by });

  it('204: deletes it, and frees its address', async () => {
    const { id, email } = await createAppAccount(test, tenant);
    const answer = await remove(id);
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: '' });
    expectError(await test.call('GET', `${path}/${id}`, { token }), 404, 'NOT_FOUND');
    expectError(await remove(id), 404, 'NOT_FOUND');
    expect((await create({ ...body(), email })).status).toBe(201);
  });

  it('204: exactly one of 20 concurrent requests', async () => {
    const { id } = await createAppAccount(test, tenant);
    const answers = await Promise.all(Array.from({ length: 20 }, () => remove(id)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, ...Array(19).fill(404)]);
  });

  it('404: one of another tenant, which remains', async () => {
    const other = await createTenant(test);
    const { id } = await createAppAccount(test, other);
    expectError(await remove(id), 404, 'NOT_FOUND');
    expect((await test.call('GET', `${path}/${id}`, { token: other.admin.token })).status).toBe(200);
  });

  it('422: one with more permissions than the caller', async () => {
    const { id } = await createAppAccount(test, tenant, { permissions: { resources: { delete: true } } });
    expectError(await remove(id, manager.token), 422, ...aboveOwn);
    expect((await read(id)).id).toBe(id);
  });
});
