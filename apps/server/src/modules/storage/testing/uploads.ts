import { expect, vi } from 'vitest';

import type { Tenant } from '#test/support/factories';
import { toAnswer, type Answer, type TestService } from '#test/support/harness';

export const files = '/api/v1/secure/files';

type Upload = { token: string; url?: string; type?: string; name?: string; method?: 'POST' | 'PUT' };

/** The smallest content with the signature of a picture. */
export const webp = (filling = 'VP8 ') => Buffer.from(`RIFF\0\0\0\0WEBP${filling}`, 'latin1');

/** Sends the bytes as the body, like a client. */
export async function upload(
  test: TestService,
  content: string | Buffer,
  { token, url = files, type = 'text/plain', name, method = 'POST' }: Upload,
): Promise<Answer> {
  const query = name === undefined && method === 'PUT' ? '' : `?name=${encodeURIComponent(name ?? 'note.txt')}`;
  const answer = await test.raw({
    method,
    url: url.includes('?') ? url : `${url}${query}`,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': type,
      'content-length': String(Buffer.byteLength(content)),
    },
    payload: content,
  });
  return toAnswer(answer);
}

/** Uploads a file, expects success, and returns its id. */
export async function storeFile(test: TestService, content: string | Buffer, options: Upload): Promise<string> {
  const answer = await upload(test, content, options);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.data.id;
}

/** The counters of a tenant and the sums of its rows. */
export async function ledgerOf(test: TestService, tenantId: string) {
  const db = test.service.services.database.tenant(tenantId);
  const [counters] = await db.all<{ usage: number; reserved: number }>({
    kind: 'read',
    text: 'select usage_bytes as usage, reserved_bytes as reserved from tenant_storage where tenant_id = $1',
    values: [tenantId],
    prepare: false,
  });
  const rows = await db.all<{ id: string; status: string; size: number }>({
    kind: 'read',
    text: 'select id, status, size_bytes as size from files where tenant_id = $1 order by id',
    values: [tenantId],
    prepare: false,
  });
  return { counters: counters ?? { usage: 0, reserved: 0 }, rows };
}

/** Expects exactly these bytes to be stored and counted, without running uploads or remains. */
export async function expectSettled(test: TestService, { tenantId }: Tenant, sizes: readonly number[]): Promise<void> {
  const { counters } = await ledgerOf(test, tenantId);
  const usage = sizes.reduce((sum, size) => sum + size, 0);
  expect(counters).toEqual({ usage, reserved: 0 });
  // Deletions do not wait for the objects, and rows are deleted after the objects.
  const rows = await vi.waitFor(
    async () => {
      const ledger = await ledgerOf(test, tenantId);
      expect(ledger.rows.filter(({ status }) => status === 'deleting')).toEqual([]);
      return ledger.rows;
    },
    { timeout: 30_000 },
  );
  expect(rows.map(({ status }) => status)).toEqual(sizes.map(() => 'stored'));
  expect(rows.map(({ size }) => size).toSorted((left, right) => left - right)).toEqual(
    sizes.toSorted((left, right) => left - right),
  );
}
