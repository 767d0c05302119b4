import { beforeEach, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { files, storeFile, upload } from '#modules/storage/testing/uploads';
import { withClient } from '#test/support/database';
import { createMember, createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService({ environment: { STORAGE_DEFAULT_QUOTA_BYTES: '1000' } });
const families = ['default-tenant-storage', 'system-storage'];
let tenant: Tenant;
let root: string;

beforeEach(async () => {
  tenant = await createTenant(test);
  root = (await logInSystemAdmin(test)).token;
});

const patch = (family: string, body: unknown, { id = tenant.tenantId, token = root } = {}) =>
  test.call('PATCH', `/api/v1/secure/tenants/${id}/${family}`, { token, body });
const read = (token = tenant.admin.token, id = tenant.tenantId) =>
  test.call('GET', `/api/v1/secure/tenants/${id}/storage`, { token });

describe.each(families)('updateTenantStorage by %s', (family) => {
  it('200: the record with both spellings, and the quota counts', async () => {
    await storeFile(test, 'x'.repeat(25), { token: tenant.admin.token });
    const answer = await patch(family, { enabled: true, quota_bytes: 200 });
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        data: {
          tenantId: tenant.tenantId,
          tenant_id: tenant.tenantId,
          enabled: true,
          quota_bytes: 200,
          usage_bytes: 25,
          available_bytes: 175,
          usage_percent: 12.5,
        },
      },
    });
    expect((await read()).body).toEqual(answer.body);
    expect((await patch(family, {})).body).toEqual(answer.body);
    expect((await patch(family, { quota_bytes: 1.9 })).body.data.quota_bytes).toBe(1);
    const token = tenant.admin.token;
    expectError(await upload(test, 'x', { token }), 413, 'PAYLOAD_TOO_LARGE', 'QUOTA_EXCEEDED');
  });

  it('200: recorded in that tenant, with a system administrator as actor', async () => {
    await patch(family, { quota_bytes: 200 });
    const trail = await test.call('GET', '/api/v1/secure/audit-logs?action=storage.updated', {
      token: tenant.admin.token,
    });
    expect(trail.body.data).toHaveLength(1);
    expect(trail.body.data[0]).toMatchObject({
      resource_type: 'tenant',
      resource_id: tenant.tenantId,
      details: { fields: ['quota_bytes'], actor: { actingFromTenantId: systemTenantId } },
    });
  });

  it.each([
    [{ quota_bytes: 0 }],
    [{ quota_bytes: -1 }],
    [{ quota_bytes: 2 ** 60 }],
    [{ quota_bytes: '1' }],
    [{ enabled: 1 }],
    [{ quota_bytes: null }],
    [{ usage_bytes: 1 }],
  ])('400: %j', async (body) => {
    expectError(await patch(family, body), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no other caller, not even for their own tenant', async () => {
    const url = `/api/v1/secure/tenants/${tenant.tenantId}/${family}`;
    expectError(await test.call('PATCH', url, { body: {} }), 401, 'AUTHENTICATION_ERROR');
    expectError(await patch(family, { quota_bytes: 1 }, { token: tenant.admin.token }), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: a tenant other than the one in the header', async () => {
    const other = await createTenant(test);
    const url = `/api/v1/secure/tenants/${tenant.tenantId}/${family}`;
    for (const body of [{ quota_bytes: 1 }, {}]) {
      const as = (id: string) => test.call('PATCH', url, { token: root, body, headers: { 'x-tenant-id': id } });
      expectError(await as(other.tenantId), 404, 'NOT_FOUND');
      expect((await as(tenant.tenantId)).status).toBe(200);
    }
  });

  it('404: a tenant after its grace period; 200 before', async () => {
    const end = (at: string) =>
      withClient(test.connection, (client) =>
        client.query(`update tenants set status = 'pending_deletion', deletes_at = ${at} where id = $1`, [
          tenant.tenantId,
        ]),
      );
    await end(`now() + interval '1 day'`);
    expect((await patch(family, { quota_bytes: 7 })).status).toBe(200);
    await end(`now() - interval '1 second'`);
    expectError(await patch(family, { quota_bytes: 8 }), 404, 'NOT_FOUND');
    expectError(await patch(family, {}), 404, 'NOT_FOUND');
  });

  it('404: the tenant does not exist', async () => {
    expectError(await patch(family, { quota_bytes: 1 }, { id: newId() }), 404, 'NOT_FOUND');
    expectError(await patch(family, {}, { id: newId() }), 404, 'NOT_FOUND');
  });
});

describe('disabled storage', () => {
  it('400 by default-tenant-storage, where it must remain true', async () => {
    expectError(await patch('default-tenant-storage', { enabled: false }), 400, 'VALIDATION_ERROR');
    expect((await read()).body.data.enabled).toBe(true);
  });

  it('200 by system-storage: files cannot be added, but read and deleted', async () => {
    const { token } = tenant.admin;
    const id = await storeFile(test, 'kept', { token });
    expect((await patch('system-storage', { enabled: false })).body.data).toMatchObject({ enabled: false });
    expectError(await upload(test, 'x', { token }), 422, 'UNPROCESSABLE_ENTITY', 'STORAGE_DISABLED');
    expect((await test.call('GET', `${files}/${id}/content`, { token })).text).toBe('kept');
    expect((await test.call('DELETE', `${files}/${id}`, { token })).status).toBe(204);
    await patch('system-storage', { enabled: true });
    expect((await upload(test, 'x', { token })).status).toBe(201);
  });

  it('can be disabled before the first file', async () => {
    await patch('system-storage', { enabled: false });
    const { token } = tenant.admin;
    expectError(await upload(test, 'x', { token }), 422, 'UNPROCESSABLE_ENTITY', 'STORAGE_DISABLED');
  });
});

describe('getTenantStorage', () => {
  it('200: the default quota without a configured one', async () => {
    expect((await read()).body.data).toMatchObject({
      enabled: true,
      quota_bytes: 1000,
      usage_bytes: 0,
      available_bytes: 1000,
      usage_percent: 0,
    });
  });

  it('403, 404: members, and other tenants', async () => {
    const member = await createMember(test, tenant);
    expectError(await read(member.token), 403, 'AUTHORIZATION_ERROR');
    const other = await createTenant(test);
    expectError(await read(tenant.admin.token, other.tenantId), 404, 'NOT_FOUND');
    expectError(await read(tenant.admin.token, newId()), 404, 'NOT_FOUND');
  });
});

describe('the sums over all tenants', () => {
  const own = useService({ ownDatabase: true, environment: { STORAGE_DEFAULT_QUOTA_BYTES: '1000' } });

  it('200: the same by both paths, quotas and usage of every tenant', async () => {
    const [first, second] = [await createTenant(own), await createTenant(own)];
    const { token } = await logInSystemAdmin(own);
    const set = (id: string, body: object) =>
      own.call('PATCH', `/api/v1/secure/tenants/${id}/system-storage`, { token, body });
    await set(first.tenantId, { quota_bytes: 200 });
    await set(second.tenantId, { enabled: false });
    await storeFile(own, 'x'.repeat(100), { token: first.admin.token });
    const answers = await Promise.all(
      ['default-tenant-storage', 'system'].map((path) =>
        own.call('GET', `/api/v1/secure/storage/${path}/stats`, { token }),
      ),
    );
    for (const { status, body } of answers) {
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          data: {
            // The system tenant is included.
            total_tenants: 3,
            enabled_tenants: 2,
            total_quota_bytes: 2200,
            total_usage_bytes: 100,
            average_usage_percent: 16.67,
          },
        },
      });
    }
  });
});
