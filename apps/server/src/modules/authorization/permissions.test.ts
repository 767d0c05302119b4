import { beforeAll, describe, expect, it } from 'vitest';

import { flagNames } from '#core/base/access/flags';
import { permissionNames } from '#core/base/access/permissions';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/authz/permissions';
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

describe('listPermissions', () => {
  it('200: every permission and every flag, for any member', async () => {
    const { token } = await createMember(test, tenant);
    const { status, body } = await test.call('GET', path, { token });
    expect(status).toBe(200);
    const { permissions, flags } = body.data;
    expect(permissions.map((one: { name: string }) => one.name)).toEqual(permissionNames);
    expect(permissions.every((one: { description: string }) => one.description.length > 10)).toBe(true);
    expect(flags.map((one: { name: string }) => one.name)).toEqual(flagNames);
    expect(flags).toEqual(
      expect.arrayContaining([
        { name: 'spaces.read', neededToGrant: null, grantableTo: ['api_key', 'app_account'] },
        { name: 'spaces.write', neededToGrant: 'spaces.manage', grantableTo: ['api_key', 'app_account'] },
        { name: 'users.read', neededToGrant: 'users.read', grantableTo: ['api_key', 'app_account'] },
        { name: 'tags.read', neededToGrant: null, grantableTo: ['api_key'] },
        { name: 'qrCodes.assign', neededToGrant: 'resources.manage', grantableTo: ['api_key'] },
      ]),
    );
  });

  it('a group can hold each listed permission, and no other', async () => {
    const { token } = tenant.admin;
    const body = { name: 'All', permissions: permissionNames };
    expect((await test.call('POST', '/api/v1/secure/groups', { token, body })).status).toBe(201);
    const wrong = { name: 'More', permissions: ['everything'] };
    expectError(await test.call('POST', '/api/v1/secure/groups', { token, body: wrong }), 400, 'VALIDATION_ERROR');
  });

  it('401: without credentials', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
  });
});
