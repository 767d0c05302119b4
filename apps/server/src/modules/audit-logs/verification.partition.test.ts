import { expect, it } from 'vitest';

import { withClient } from '#test/support/database';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// A separate database, because a partition holds the rows of all tenants.
const test = useService({ ownDatabase: true });

it('an emptied partition is found in every chain with rows there, also with a time range', async () => {
  const { tenantId, admin } = await createTenant(test);
  for (let index = 0; index < 5; index++)
    await test.call('POST', '/api/v1/secure/contacts', { token: admin.token, body: {} });
  const partition = await withClient(test.connection, async (client) => {
    const { rows } = await client.query<{ partition: string; rows: number; slots: number; first: Date }>(
      `select tableoid::regclass::text as partition, count(*)::integer as rows, count(distinct chain_slot)::integer as slots,
         min(created_at) as first
       from audit_logs where tenant_id = $1 group by 1`,
      [tenantId],
    );
    expect(rows).toHaveLength(1);
    await client.query(`truncate ${rows[0]!.partition}`);
    return rows[0]!;
  });
  const month = new Date(Date.UTC(partition.first.getUTCFullYear(), partition.first.getUTCMonth()));
  for (const query of ['', `?from=${month.toISOString()}`]) {
    const { body } = await test.call('GET', `/api/v1/secure/audit-logs/verify${query}`, { token: admin.token });
    const { valid, problems } = body.data as { valid: boolean; problems: { type: string; count: number }[] };
    expect(valid).toBe(false);
    expect(new Set(problems.map(({ type }) => type))).toEqual(new Set(['missing']));
    expect(problems).toHaveLength(partition.slots);
    expect(problems.reduce((sum, { count }) => sum + count, 0)).toBe(partition.rows);
  }
});
