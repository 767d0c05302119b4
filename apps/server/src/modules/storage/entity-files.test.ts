import { beforeEach, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { expectSettled, storeFile, upload } from '#modules/storage/testing/uploads';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const base = '/api/v1/secure';
let tenant: Tenant;
let token: string;

beforeEach(async () => {
  tenant = await createTenant(test);
  token = tenant.admin.token;
});

describe.each([
  ['spaces', { name: 'Room' }],
  ['resources', { name: 'Projector' }],
  ['contacts', {}],
])('files of %s', (collection, body) => {
  const newRecord = async () => {
    const { id } = (await test.call('POST', `${base}/${collection}`, { token, body })).body.data;
    return `${base}/${collection}/${id}`;
  };

  it('are uploaded, listed, read and deleted only at their record', async () => {
    const [url, other] = [await newRecord(), await newRecord()];
    const id = await storeFile(test, 'plan', { token, url: `${url}/files`, name: 'plan' });
    const list = (at: string) => test.call('GET', `${at}/files`, { token });
    expect((await list(url)).body).toMatchObject({ data: [{ id, name: 'plan' }], pagination: { total: 1 } });
    expect((await list(other)).body.data).toEqual([]);
    expect((await test.call('GET', `${url}/files/${id}/content`, { token })).text).toBe('plan');
    expectError(await test.call('GET', `${other}/files/${id}/content`, { token }), 404, 'NOT_FOUND');
    expectError(await test.call('DELETE', `${other}/files/${id}`, { token }), 404, 'NOT_FOUND');
    const member = await createMember(test, tenant);
    const refused = await test.call('DELETE', `${url}/files/${id}`, { token: member.token });
    expectError(refused, 403, 'AUTHORIZATION_ERROR', 'FILE_NOT_OWNED');
    expect((await test.call('DELETE', `${url}/files/${id}`, { token })).status).toBe(204);
    await expectSettled(test, tenant, []);
  });

  it('404 for a record that does not exist', async () => {
    const nowhere = `${base}/${collection}/${newId()}/files`;
    expectError(await test.call('GET', nowhere, { token }), 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
    expectError(await upload(test, 'x', { token, url: nowhere }), 404, 'NOT_FOUND', 'ENTITY_NOT_FOUND');
  });

  it('are deleted with the record, and their space is released', async () => {
    const url = await newRecord();
    const kept = await storeFile(test, 'kept', { token });
    await storeFile(test, 'x', { token, url: `${url}/files` });
    await storeFile(test, 'yy', { token, url: `${url}/files` });
    const gone = await test.call('DELETE', url, { token });
    expect([200, 204]).toContain(gone.status);
    const list = await test.call('GET', `${base}/files`, { token });
    expect(list.body).toMatchObject({ data: [{ id: kept }], pagination: { total: 1 } });
    const storage = await test.call('GET', `${base}/tenants/${tenant.tenantId}/storage`, { token });
    expect(storage.body.data.usage_bytes).toBe(4);
  });
});

describe('an API key', () => {
  it('reaches files of spaces with the flags of spaces, regardless of the uploader', async () => {
    const keyBody = { name: 'Door', permissions: { spaces: { read: true, write: true } } };
    const key = (await test.call('POST', `${base}/api-keys`, { token, body: keyBody })).body.fullKey as string;
    const headers = { 'x-api-key': key };
    const { id } = (await test.call('POST', `${base}/spaces`, { token, body: { name: 'Room' } })).body.data;
    const mine = await storeFile(test, 'x', { token, url: `${base}/spaces/${id}/files` });
    const url = `${base}/spaces/${id}/files`;
    const added = await test.call('POST', `${url}?name=door.log`, { headers, body: 'opened' });
    expect(added).toMatchObject({ status: 201, body: { data: { created_by: null, size_bytes: 6 } } });
    expect((await test.call('GET', url, { headers })).body.data).toHaveLength(2);
    expect((await test.call('DELETE', `${url}/${mine}`, { headers })).status).toBe(204);
    expectError(await test.call('GET', `${base}/files`, { headers }), 403, 'AUTHORIZATION_ERROR');
    expectError(await test.call('GET', `${base}/contacts/${newId()}/files`, { headers }), 403, 'AUTHORIZATION_ERROR');
  });
});
