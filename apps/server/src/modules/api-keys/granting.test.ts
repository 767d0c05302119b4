import { beforeAll, describe, expect, it } from 'vitest';

import { permissionNames } from '#core/base/access/permissions';
import { allPermissions, apiKeys, createKey, patchKey, rotateKey, statusOfKey } from '#modules/api-keys/testing/keys';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let manager: Person;

beforeAll(async () => {
  tenant = await createTenant(test);
  const notHeld = ['users.read', 'resources.manage'];
  manager = await createMember(test, tenant, {
    permissions: permissionNames.filter((name) => !notHeld.includes(name)),
  });
});

const create = (permissions: object, query = '') =>
  test.call('POST', `${apiKeys}${query}`, { token: manager.token, body: { name: 'x', permissions } });

function expectAboveOwn(answer: Answer, missing: string[]): void {
  expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'PERMISSIONS_ABOVE_OWN');
  expect(answer.body.details.missing).toEqual(missing);
}

describe('a user cannot grant more than the user holds', () => {
  it.each<[object, string[]]>([
    [{ users: { read: true } }, ['users.read']],
    [{ resources: { write: true } }, ['resources.manage']],
    [{ resources: { delete: true } }, ['resources.manage']],
    [{ qrCodes: { assign: true } }, ['resources.manage']],
    [allPermissions, ['resources.manage', 'users.read']],
  ])('createApiKey: %j', async (permissions, missing) => {
    expectAboveOwn(await create(permissions), missing);
  });

  it('createApiKey: refuses a template with missing permissions', async () => {
    expectAboveOwn(await create({}, '?template=FULL_ACCESS'), ['resources.manage', 'users.read']);
    expectAboveOwn(await create({}, '?template=READ_ONLY'), ['users.read']);
    expect((await create({ users: { read: false } }, '?template=READ_ONLY')).status).toBe(201);
  });

  it('createApiKey: permits common flags, held permissions, and flags that are off', async () => {
    const granted = await create({
      spaces: { read: true, write: true, delete: true },
      resources: { read: true, write: false, properties: [] },
      calendar: { events: true },
      users: { read: false },
    });
    expect(granted.status).toBe(201);
  });

  it('updateApiKey: refuses added permissions that the caller lacks', async () => {
    const { id } = await createKey(test, manager);
    const patch = (body: object) => test.call('PATCH', `${apiKeys}/${id}`, { token: manager.token, body });
    expectAboveOwn(await patch({ permissions: { users: { read: true } } }), ['users.read']);
    expect((await patch({ permissions: { spaces: { delete: true } } })).status).toBe(200);
  });

  it('refuses to update, rotate or delete a key with more permissions', async () => {
    const key = await createKey(test, tenant.admin, { permissions: { users: { read: true }, spaces: { read: true } } });
    await rotateKey(test, tenant, key.id, 3600);
    const url = `${apiKeys}/${key.id}`;
    const tries = [
      { method: 'PATCH', url, body: { name: 'mine' } },
      { method: 'PATCH', url, body: { permissions: { users: null } } },
      { method: 'POST', url: `${url}/rotate` },
      { method: 'DELETE', url: `${url}/previous-secret` },
      { method: 'DELETE', url },
    ] as const;
    for (const { method, url: place, ...rest } of tries)
      expectAboveOwn(await test.call(method, place, { token: manager.token, ...rest }), ['users.read']);
    expect(await statusOfKey(test, key.fullKey)).toBe(200);
    const { body } = await test.call('GET', url, { token: manager.token });
    expect(body.data.name).toBe('Door');
    expect((await patchKey(test, tenant, key.id, { permissions: { users: null } })).status).toBe(200);
    expect((await test.call('DELETE', url, { token: manager.token })).status).toBe(204);
  });

  it('a lost permission can no longer be granted to keys', async () => {
    const other = await createMember(test, tenant);
    const group = await test.call('POST', '/api/v1/secure/groups', {
      token: tenant.admin.token,
      body: { name: 'Key makers', permissions: ['api_keys.manage', 'users.read'] },
    });
    const groupUrl = `/api/v1/secure/groups/${group.body.data.id}`;
    await test.call('POST', `${groupUrl}/members`, { token: tenant.admin.token, body: { userId: other.userId } });
    const make = () =>
      test.call('POST', apiKeys, { token: other.token, body: { name: 'x', permissions: { users: { read: true } } } });
    expect((await make()).status).toBe(201);
    const permissions = ['api_keys.manage'];
    await test.call('PATCH', groupUrl, { token: tenant.admin.token, body: { permissions } });
    expectAboveOwn(await make(), ['users.read']);
  });

  it('another tenant administrator holds everything', async () => {
    const second = await createMember(test, tenant, { isTenantAdmin: true });
    expect((await createKey(test, second, { permissions: allPermissions })).id).toBeTypeOf('string');
  });
});
