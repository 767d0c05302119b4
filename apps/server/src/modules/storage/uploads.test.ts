import { describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { ObjectMissing } from '#core/data/files/object-store';
import { expectSettled, files, ledgerOf, upload } from '#modules/storage/testing/uploads';
import { useEdges } from '#test/support/edge';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';
import { openConnection } from '#test/support/raw-connection';

const huge = String(Number.MAX_SAFE_INTEGER);
const test = useService({ environment: { FILE_LIMIT_BYTES: huge, STORAGE_DEFAULT_QUOTA_BYTES: huge } });
const openEdge = useEdges(test);

/** The first half of ten bytes, while the row has the status 'uploading'. */
async function beginUpload({ tenantId, admin }: Tenant) {
  const { port } = await openEdge();
  const connection = await openConnection(port);
  connection.send(
    `POST ${files}?name=x HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin.token}\r\ncontent-length: 10\r\n\r\nfirst`,
  );
  const id = await vi.waitFor(
    async () => {
      const { rows } = await ledgerOf(test, tenantId);
      expect(rows).toMatchObject([{ status: 'uploading' }]);
      return rows[0]!.id;
    },
    { timeout: 30_000 },
  );
  return { connection, id };
}

describe('an upload that the sweep has given up', () => {
  it.each([
    ['and cleaned up to the end', 'delete from files where tenant_id = $1'],
    ['and is cleaning up', `update files set status = 'deleting' where tenant_id = $1`],
  ])('%s: 409, and its object does not stay', async (_how, taking) => {
    const tenant = await createTenant(test);
    const { tenantId } = tenant;
    const { connection, id } = await beginUpload(tenant);
    const db = test.service.services.database.tenant(tenantId);
    for (const text of [taking, 'update tenant_storage set reserved_bytes = 0 where tenant_id = $1'])
      await db.interactive.all({ kind: 'write', text, values: [tenantId], prepare: false });
    connection.send('other');
    const answer = await connection.next();
    expect(answer.status).toBe(409);
    expect(JSON.parse(answer.body).details).toEqual({ code: 'UPLOAD_SUPERSEDED' });
    connection.destroy();
    const open = async () => (await test.service.services.files.get(`${tenantId}/${id}`)).destroy();
    await vi.waitFor(() => expect(open()).rejects.toThrow(ObjectMissing), { timeout: 30_000 });
    await expectSettled(test, tenant, []);
  });
});

describe('a store that cannot take the file now', () => {
  it('503 STORE_FULL: the disk is full, and no upload begins', async () => {
    const tenant = await createTenant(test);
    const headers = { authorization: `Bearer ${tenant.admin.token}`, 'content-length': String(10 ** 15) };
    const answer = await test.raw({ method: 'POST', url: `${files}?name=x`, headers, payload: 'x' });
    expect(answer.json()).toMatchObject({ statusCode: 503, details: { code: 'STORE_FULL' } });
    await expectSettled(test, tenant, []);
    expect((await upload(test, 'x', { token: tenant.admin.token })).status).toBe(201);
  });

  describe('in a bucket', () => {
    const bucket = useService({
      environment: {
        S3_BUCKET: 'none',
        S3_ENDPOINT: 'http://127.0.0.1:1',
        S3_ACCESS_KEY_ID: 'key',
        S3_SECRET_ACCESS_KEY: 'an-unused-secret',
      },
    });

    it('503 STORE_BUSY: the tenant is at its upload limit, and no upload begins', async () => {
      const tenant = await createTenant(bucket);
      const { token } = tenant.admin;
      const admit = () => bucket.service.services.files.admit(`${tenant.tenantId}/${newId()}`, 1);
      const places = await Promise.all(Array.from({ length: 8 }, admit));
      const answer = await upload(bucket, 'x', { token });
      expectError(answer, 503, 'SERVICE_UNAVAILABLE', 'STORE_BUSY');
      expect(answer.headers['retry-after']).toBe('5');
      expect(await ledgerOf(bucket, tenant.tenantId)).toEqual({ counters: { usage: 0, reserved: 0 }, rows: [] });
      for (const leave of places) leave();
      // Each upload releases its permit, also on failure, as here, where the store does not answer.
      for (let at = 0; at < 9; at++) {
        const next = await upload(bucket, 'x', { token });
        expect({ status: next.status, details: next.body.details }).toEqual({ status: 503, details: null });
      }
    });
  });
});
