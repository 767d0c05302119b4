import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { allPermissions, apiKeys, createKey, patchKey, statusOfKey } from '#modules/api-keys/testing/keys';
import { auditOf, countStatuses, createClock, inParallel, minute } from '#modules/auth/testing/steps';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const patch = (id: string, body: object) => patchKey(test, tenant, id, body);
const remove = (id: string, token = tenant.admin.token) => test.call('DELETE', `${apiKeys}/${id}`, { token });
const inFuture = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();

describe('updateApiKey', () => {
  it('200: changes only the sent fields', async () => {
    const { id } = await createKey(test, tenant.admin, { description: 'before', ip_whitelist: ['192.0.2.7'] });
    const { data: before } = (await test.call('GET', `${apiKeys}/${id}`, { token: tenant.admin.token })).body;
    const body = {
      name: 'Gate',
      description: null,
      enabled: false,
      expires_at: inFuture(minute),
      ip_whitelist: ['2001:db8::/32'],
      device_fingerprint: 'reader 8',
      mcp_write_enabled: true,
    };
    const changed = await patch(id, body);
    expect(changed.status).toBe(200);
    expect(changed.body).toEqual({ data: { ...before, ...body, updated_at: expect.any(String) } });
    expect(changed.body.data.updated_at > before.updated_at).toBe(true);
    const [entry] = await auditOf(test, tenant.admin, 'api_key.updated');
    expect(entry).toMatchObject({ resource_id: id, details: { fields: Object.keys(body) } });
    const cleared = { expires_at: null, ip_whitelist: null, device_fingerprint: null };
    expect((await patch(id, cleared)).body.data).toMatchObject({ ...cleared, name: 'Gate', enabled: false });
  });

  it('200: an empty object returns the unchanged record', async () => {
    const { id } = await createKey(test, tenant.admin);
    const { body } = await test.call('GET', `${apiKeys}/${id}`, { token: tenant.admin.token });
    const answer = await patch(id, {});
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(body);
  });

  it('200: merges permissions flag by flag, replaces properties, removes a section that is null', async () => {
    const { id } = await createKey(test, tenant.admin, {
      permissions: { spaces: { read: true }, users: { read: true }, resources: { read: true, properties: ['a', 'b'] } },
    });
    const merge = async (permissions: object) => (await patch(id, { permissions })).body.data.permissions;
    expect(await merge({})).toEqual({
      spaces: { read: true },
      users: { read: true },
      resources: { read: true, properties: ['a', 'b'] },
    });
    expect(await merge({ spaces: { write: true }, users: null, resources: { properties: ['c'] } })).toEqual({
      spaces: { read: true, write: true },
      resources: { read: true, properties: ['c'] },
    });
    expect(await merge({ spaces: { read: false }, geo: null, tags: { read: true } })).toEqual({
      spaces: { read: false, write: true },
      resources: { read: true, properties: ['c'] },
      tags: { read: true },
    });
    expect(await merge({ spaces: null, resources: null, tags: null })).toEqual({});
    expect(await merge(allPermissions)).toEqual(allPermissions);
  });

  it.each<[string, object]>([
    ['empty name', { name: '' }],
    ['name of 101', { name: 'x'.repeat(101) }],
    ['no name', { name: null }],
    ['description of 501', { description: 'x'.repeat(501) }],
    ['enabled that is not a boolean', { enabled: null }],
    ['permissions that are null', { permissions: null }],
    ['unknown section', { permissions: { contacts: null } }],
    ['unknown flag', { permissions: { calendar: { read: true } } }],
    ['properties that are null', { permissions: { resources: { properties: null } } }],
    ['no time', { expires_at: '' }],
    ['range that is too wide', { ip_whitelist: ['::/129'] }],
    ['whitelist of 101', { ip_whitelist: Array.from({ length: 101 }, () => '::1') }],
    ['empty fingerprint', { device_fingerprint: '' }],
    ['fingerprint of 501', { device_fingerprint: 'x'.repeat(501) }],
    ['unknown property', { key_preview: 'x' }],
  ])('400: %s', async (_what, body) => {
    const { id } = await createKey(test, tenant.admin);
    expectError(await patch(id, body), 400, 'VALIDATION_ERROR');
  });

  it('404: unknown, deleted, of another tenant', async () => {
    const stranger = await createTenant(test);
    const { id } = await createKey(test, tenant.admin);
    expectError(await patchKey(test, stranger, id, { name: 'x' }), 404, 'NOT_FOUND');
    expectError(await patch(newId(), { name: 'x' }), 404, 'NOT_FOUND');
    await remove(id);
    expectError(await patch(id, { name: 'x' }), 404, 'NOT_FOUND');
    expectError(await patch(id, {}), 404, 'NOT_FOUND');
  });

  it.each<[string, object, number]>([
    ['enabled', { enabled: false }, 401],
    ['expires_at in the past', { expires_at: '2001-01-01T00:00:00Z' }, 401],
    ['permissions', { permissions: { spaces: null } }, 403],
    ['ip_whitelist', { ip_whitelist: ['192.0.2.7'] }, 403],
    ['device_fingerprint', { device_fingerprint: 'reader 7' }, 403],
  ])('acts on the next request: %s', async (field, change, status) => {
    const { id, fullKey } = await createKey(test, tenant.admin);
    const undo = {
      enabled: true,
      expires_at: null,
      permissions: { spaces: { read: true } },
      ip_whitelist: [],
      device_fingerprint: null,
    };
    for (let round = 0; round < 3; round++) {
      expect(await statusOfKey(test, fullKey)).toBe(200);
      expect((await patch(id, change)).status).toBe(200);
      expect(await statusOfKey(test, fullKey)).toBe(status);
      const name = field.split(' ')[0] as keyof typeof undo;
      expect((await patch(id, { [name]: undo[name] })).status).toBe(200);
    }
  });

  it('200: shows an empty list of addresses as null, which restricts nothing', async () => {
    const created = await createKey(test, tenant.admin, { ip_whitelist: [] });
    const changed = await patch(created.id, { ip_whitelist: [] });
    expect(changed.body.data.ip_whitelist).toBeNull();
    const { body } = await test.call('GET', `/api/v1/secure/api-keys/${created.id}`, { token: tenant.admin.token });
    expect(body.data.ip_whitelist).toBeNull();
    expect(await statusOfKey(test, created.fullKey)).toBe(200);
  });

  it.each(['__proto__', 'constructor', 'prototype'])('400: %s as the name of a property', async (name) => {
    const { id } = await createKey(test, tenant.admin);
    const permissions = { resources: { read: true, properties: [name] } };
    expectError(await patch(id, { permissions }), 400, 'VALIDATION_ERROR');
  });

  it('50 concurrent changes are all kept', async () => {
    const { id } = await createKey(test, tenant.admin, { permissions: {} });
    const flags = Object.entries(allPermissions).flatMap(([section, held]) =>
      Object.entries(held).map(([flag, value]) => ({ [section]: { [flag]: value } })),
    );
    for (let round = 0; round < 5; round++) {
      await patch(id, { permissions: Object.fromEntries(Object.keys(allPermissions).map((name) => [name, null])) });
      const answers = await inParallel(50, (at) => patch(id, { permissions: flags[at % flags.length] }));
      expect(countStatuses(answers)).toEqual({ 200: 50 });
      const { body } = await test.call('GET', `${apiKeys}/${id}`, { token: tenant.admin.token });
      expect(body.data.permissions).toEqual(allPermissions);
    }
  });
});

describe('deleteApiKey', () => {
  it('204: the key is no longer listed or accepted; the row remains', async () => {
    const { id, fullKey, keyUuid } = await createKey(test, tenant.admin);
    expect(await statusOfKey(test, fullKey)).toBe(200);
    const removed = await remove(id);
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect(await statusOfKey(test, fullKey)).toBe(401);
    const token = tenant.admin.token;
    for (const path of ['', '/usage'])
      expectError(await test.call('GET', `${apiKeys}/${id}${path}`, { token }), 404, 'NOT_FOUND');
    expectError(await test.call('POST', `${apiKeys}/${id}/rotate`, { token }), 404, 'NOT_FOUND');
    expectError(await test.call('DELETE', `${apiKeys}/${id}/previous-secret`, { token }), 404, 'NOT_FOUND');
    const { body } = await test.call('GET', apiKeys, { token });
    expect(body.data.filter((key: any) => key.id === id)).toEqual([]);
    expect(await rowsOf(id, keyUuid)).toEqual({ keys: 1, directory: 0 });
    const [entry] = await auditOf(test, tenant.admin, 'api_key.deleted');
    expect(entry!.resource_id).toBe(id);
  });

  it('404: unknown, already deleted, of another tenant', async () => {
    const stranger = await createTenant(test);
    const { id, fullKey } = await createKey(test, tenant.admin);
    expectError(await remove(newId()), 404, 'NOT_FOUND');
    expectError(await remove(id, stranger.admin.token), 404, 'NOT_FOUND');
    expect(await statusOfKey(test, fullKey)).toBe(200);
    expect((await remove(id)).status).toBe(204);
    expectError(await remove(id), 404, 'NOT_FOUND');
  });

  it('exactly one of 50 concurrent requests, 20 times', async () => {
    for (let round = 0; round < 20; round++) {
      const { id, fullKey } = await createKey(test, tenant.admin);
      expect(countStatuses(await inParallel(50, () => remove(id)))).toEqual({ 204: 1, 404: 49 });
      expect(await statusOfKey(test, fullKey)).toBe(401);
    }
  });

  it('403: without the permission', async () => {
    const reader = await createMember(test, tenant, { permissions: ['api_keys.read'] });
    const { id } = await createKey(test, tenant.admin);
    expectError(await remove(id, reader.token), 403, 'AUTHORIZATION_ERROR');
  });
});

async function rowsOf(id: string, keyUuid: string) {
  const [keys, directory] = await test.service.services.database.tenant(tenant.tenantId).batch([
    { kind: 'read', text: 'select 1 from api_keys where id = $1', values: [id], prepare: false },
    { kind: 'read', text: 'select 1 from api_key_directory where key_uuid = $1', values: [keyUuid], prepare: false },
  ]);
  return { keys: keys.length, directory: directory.length };
}
