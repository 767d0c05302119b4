import { describe, expect, it } from 'vitest';

import { expectSettled, files, ledgerOf, storeFile, upload } from '#modules/storage/testing/uploads';
import { createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
const spaces = '/api/v1/secure/spaces';

async function setQuota({ tenantId }: Tenant, bytes: number): Promise<void> {
  const { token } = await logInSystemAdmin(test);
  const url = `/api/v1/secure/tenants/${tenantId}/default-tenant-storage`;
  const answer = await test.call('PATCH', url, { token, body: { quota_bytes: bytes } });
  expect(answer.status).toBe(200);
}

const counted = (statuses: readonly number[]) =>
  Object.fromEntries([...new Set(statuses)].map((status) => [status, statuses.filter((one) => one === status).length]));

describe('50 concurrent uploads into a limited quota', () => {
  it.each(Array.from({ length: 20 }, (_, round) => [round, 1 + ((round * 7) % 49)] as const))(
    'round %i: exactly %i of them',
    async (_round, fitting) => {
      const tenant = await createTenant(test);
      await setQuota(tenant, 100 * fitting + 99);
      const { token } = tenant.admin;
      const answers = await Promise.all(Array.from({ length: 50 }, () => upload(test, 'x'.repeat(100), { token })));
      expect(counted(answers.map(({ status }) => status))).toEqual({ 201: fitting, 413: 50 - fitting });
      await expectSettled(
        test,
        tenant,
        Array.from({ length: fitting }, () => 100),
      );
      const refused = answers.find(({ status }) => status === 413)!;
      expectError(refused, 413, 'PAYLOAD_TOO_LARGE', 'QUOTA_EXCEEDED');
    },
  );
});

it('concurrent uploads and deletions of the same files leave correct counters', async () => {
  const tenant = await createTenant(test);
  const { token } = tenant.admin;
  const ids = await Promise.all(Array.from({ length: 15 }, (_, at) => storeFile(test, 'x'.repeat(at), { token })));
  const deletions = ids.flatMap((id) => [id, id]).map((id) => test.call('DELETE', `${files}/${id}`, { token }));
  const uploads = Array.from({ length: 10 }, () => upload(test, 'yyy', { token }));
  const statuses = counted((await Promise.all(deletions)).map(({ status }) => status));
  expect(statuses).toEqual({ 204: 15, 404: 15 });
  await Promise.all(uploads);
  await expectSettled(
    test,
    tenant,
    Array.from({ length: 10 }, () => 3),
  );
  const total = (await test.call('GET', files, { token })).body.pagination.total;
  expect(total).toBe(10);
});

it('a space that is deleted during uploads keeps no files, and none of their bytes count', async () => {
  const tenant = await createTenant(test);
  const { token } = tenant.admin;
  for (let round = 0; round < 5; round++) {
    const space = (await test.call('POST', spaces, { token, body: { name: 'Room' } })).body.data.id;
    const url = `${spaces}/${space}/files`;
    const uploads = Array.from({ length: 10 }, () => upload(test, 'x'.repeat(1000), { token, url }));
    await Promise.race(uploads);
    const gone = await test.call('DELETE', `${spaces}/${space}`, { token });
    expect(gone.status).toBe(204);
    const statuses = new Set((await Promise.all(uploads)).map(({ status }) => status));
    expect([...statuses].filter((status) => ![201, 404, 409].includes(status))).toEqual([]);
  }
  const { counters, rows } = await ledgerOf(test, tenant.tenantId);
  expect(counters).toEqual({ usage: 0, reserved: 0 });
  // A file that is being removed no longer counts as a file.
  expect(rows.filter(({ status }) => status !== 'deleting')).toEqual([]);
  expect((await test.call('GET', files, { token })).body.pagination.total).toBe(0);
});

it('a quota below the usage: files cannot be added, but read and deleted', async () => {
  const tenant = await createTenant(test);
  const { token } = tenant.admin;
  const id = await storeFile(test, 'x'.repeat(300), { token });
  await setQuota(tenant, 200);
  const storage = await test.call('GET', `/api/v1/secure/tenants/${tenant.tenantId}/storage`, { token });
  expect(storage.body.data).toMatchObject({ usage_bytes: 300, available_bytes: 0, usage_percent: 150 });
  expectError(await upload(test, 'x', { token }), 413, 'PAYLOAD_TOO_LARGE', 'QUOTA_EXCEEDED');
  expect((await test.call('GET', `${files}/${id}/content`, { token })).text).toHaveLength(300);
  expect((await test.call('DELETE', `${files}/${id}`, { token })).status).toBe(204);
  expect((await upload(test, 'x'.repeat(200), { token })).status).toBe(201);
});
