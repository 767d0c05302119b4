import { beforeAll, describe, expect, it } from 'vitest';

import { listFiles, type FileOrder } from '#modules/storage/files.queries';
import { files } from '#modules/storage/testing/uploads';
import { withClient } from '#test/support/database';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();
const count = 10_100;
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
  await withClient(test.connection, async (client) => {
    await client.query(
      `insert into files (tenant_id, id, name, content_type, size_bytes, sha256, status, created_at, updated_at)
       select $1::uuid, md5(n::text || $1::uuid::text)::uuid, 'File ' || n, 'text/plain', n, repeat('0', 64), 'stored', now(), now()
       from generate_series(1, $2::int) n`,
      [tenant.tenantId, count],
    );
    await client.query(`insert into row_counts values ($1, 'files', 0, $2)`, [tenant.tenantId, count]);
    await client.query('analyze files');
  });
});

describe('the list of a tenant with many files', () => {
  type Plan = { 'Node Type': string; 'Index Name'?: string; Plans?: Plan[] };
  const flatten = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flatten)];

  async function planOf(order: FileOrder): Promise<Plan[]> {
    const { tenantId } = tenant;
    const { text, values } = listFiles(tenantId, {}, { limit: 50, offset: 0, order });
    const [row] = await test.service.services.database
      .tenant(tenantId)
      .interactive.all<{ 'QUERY PLAN': { Plan: Plan }[] }>({
        kind: 'read',
        text: `explain (format json) ${text}`,
        values,
        prepare: false,
      });
    return flatten(row!['QUERY PLAN'][0]!.Plan);
  }

  it.each([
    ['name', 'files_by_name'],
    ['created_at', 'files_pkey'],
  ] as const)('by %s comes in the order of %s', async (column, index) => {
    for (const descending of [false, true]) {
      const nodes = await planOf({ column, descending });
      expect(nodes.map((node) => node['Index Name'])).toContain(index);
      expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort');
    }
  });

  it('ordered by size is read like a search, and counts up to 10,000', async () => {
    const list = (sort: string) => test.call('GET', `${files}?sort=${sort}&limit=2`, { token: tenant.admin.token });
    const bySize = await list('-size_bytes');
    expect(bySize.body.data.map((file: { size_bytes: number }) => file.size_bytes)).toEqual([count, count - 1]);
    expect(bySize.headers['x-total-capped']).toBe('true');
    expect((await list('name')).body.pagination.total).toBe(count);
  });
});
