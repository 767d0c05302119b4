import type { PurgedTable } from '#modules/tenants/purge.queries';

/** The directory entries that lead to the tenant. */
const first: readonly string[] = ['memberships', 'api_key_directory', 'app_account_directory'];
/** The audit trail, and the domain, which is then free. */
const last: readonly string[] = ['audit_logs', 'audit_chains', 'tenant_domains'];

/** The tables in an order that foreign keys permit: each after the tables that refer to it. */
export function inPurgeOrder<Table extends PurgedTable & { referrers: readonly string[] }>(
  tables: readonly Table[],
): Table[] {
  const rank = ({ name }: Table) =>
    first.includes(name) ? first.indexOf(name) - first.length : last.indexOf(name) + 1;
  const ordered = new Set<Table>();
  const add = (table: Table) => {
    for (const referrer of tables.filter(({ name }) => table.referrers.includes(name)))
      if (!ordered.has(referrer)) add(referrer);
    ordered.add(table);
  };
  for (const table of tables.toSorted((a, b) => rank(a) - rank(b))) add(table);
  return [...ordered];
}
