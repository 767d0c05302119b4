import { beforeAll, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Query } from '#core/data/db/query';
import {
  countAuditLogs,
  listAuditLogs,
  nextAuditLogs,
  type AuditLogFilters,
} from '#modules/audit-logs/audit-logs.queries';
import { withClient } from '#test/support/database';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });
const [busy, seldom, thing] = [newId(), newId(), newId()];
const total = 200_000;

let tenant: Tenant;

// A third of all rows belongs to the tenant; one in 10,000 of these matches.
beforeAll(async () => {
  tenant = await createTenant(test);
  await withClient(test.connection, async (client) => {
    await client.query(
      `insert into audit_logs (tenant_id, created_at, id, user_id, action, resource_type, resource_id, ip_address)
       select case when n % 3 = 0 then $1::uuid else md5((n % 30)::text)::uuid end,
         timestamptz '2025-01-01' + n * interval '1 minute', md5(n::text)::uuid,
         case when n % 30000 = 0 then $3::uuid else $2::uuid end,
         case when n % 30000 = 0 then 'rare.event' when n % 2 = 0 then 'auth.login' else 'contact.updated' end,
         case when n % 30000 = 0 then 'rarity' when n % 2 = 0 then 'session' else 'contact' end,
         case when n % 30000 = 0 then $4::uuid else md5((n % 1000)::text)::uuid end,
         case when n % 30000 = 0 then '198.51.100.9' when n % 5 = 0 then null else '192.0.2.1' end
       from generate_series(1, ${total}) as n`,
      [tenant.tenantId, busy, seldom, thing],
    );
    await client.query('analyze audit_logs');
  });
}, 120_000);

type Plan = {
  'Node Type': string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
};

/** The executed plan of a statement under row level security. */
async function explain(query: Query<unknown>): Promise<Plan[]> {
  const db = test.service.services.database.tenant(tenant.tenantId);
  const text = `explain (analyze, format json) ${query.text}`;
  const [row] = await db.interactive.all<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
    ...query,
    text,
    prepare: false,
  } as never);
  const flat = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flat)];
  return flat(row!['QUERY PLAN'][0].Plan);
}

/** Number of rows that the statement read. */
function touched(plans: readonly Plan[]): number {
  const scans = plans.filter((plan) => plan['Node Type'].includes('Scan') && plan['Node Type'] !== 'Subquery Scan');
  return scans.reduce(
    (sum, plan) =>
      sum + ((plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0)) * (plan['Actual Loops'] ?? 1),
    0,
  );
}

const page = { limit: 50, offset: 0, descending: true };
const window = { from: '2025-02-01T00:00:00Z', to: '2025-02-01T12:00:00Z' };

const found: [string, AuditLogFilters, number][] = [
  ['a user', { userId: seldom }, 6],
  ['a user without events', { userId: newId() }, 0],
  ['an action', { action: 'rare.event' }, 6],
  ['an unused action', { action: 'rare.thing' }, 0],
  ['a prefix', { action: 'rare.*' }, 6],
  ['an unused prefix', { action: 'rar.*' }, 0],
  ['a resource', { resourceId: thing }, 6],
  ['an unused resource', { resourceId: newId() }, 0],
  ['a resource type', { resourceType: 'rarity' }, 6],
  ['an unused resource type', { resourceType: 'none' }, 0],
  ['an address', { ipAddress: '198.51.100.9' }, 6],
  ['an unused address', { ipAddress: '198.51.100.10' }, 0],
  ['a time', window, 240],
  ['a time before all events', { to: '2020-01-01T00:00:00Z' }, 0],
  ['user and action', { userId: busy, action: 'rare.*' }, 0],
  ['type and address', { resourceType: 'session', ipAddress: '198.51.100.9' }, 0],
  ['action and time', { action: 'auth.*', ...window }, 120],
  ['all at once', { userId: seldom, action: 'rare.event', resourceType: 'rarity', resourceId: thing, ...window }, 0],
];

it.each(found)('%s uses an index: for list, count and export', async (_what, filters, matches) => {
  for (const query of [
    listAuditLogs(tenant.tenantId, filters, page),
    countAuditLogs(tenant.tenantId, filters),
    nextAuditLogs(tenant.tenantId, filters, { after: undefined, limit: 1000 }),
  ]) {
    const plans = await explain(query);
    // A nearly empty partition is rightly read by a sequential scan.
    expect(touched(plans.filter((plan) => plan['Node Type'].includes('Seq Scan')))).toBeLessThan(20);
    expect(touched(plans)).toBeLessThanOrEqual(2 * Math.max(matches, 250));
  }
  const [counted] = await test.service.services.database
    .tenant(tenant.tenantId)
    .all(countAuditLogs(tenant.tenantId, filters));
  expect(counted!.total).toBe(matches);
});

it('a frequent match is listed without reading all rows', async () => {
  for (const filters of [
    { userId: busy },
    { action: 'auth.*' },
    { action: 'auth.login' },
    { resourceType: 'session' },
  ]) {
    expect(touched(await explain(listAuditLogs(tenant.tenantId, filters, page)))).toBeLessThan(500);
  }
});
