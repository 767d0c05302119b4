import { sql, type Expression } from 'kysely';

import { queryBuilder, read, write, type Query, type ReadStatement } from '#core/data/db/query';
import type { Reads, Statements, TenantDb } from '#core/data/db/scopes';

/** Tables whose rows are counted as they come and go, so that a list need not count them. */
const countedTables = ['categories', 'contacts', 'files', 'qr_codes', 'resources', 'spaces'] as const;
export type CountedTable = (typeof countedTables)[number];

export function isCounted(table: string): table is CountedTable {
  return (countedTables as readonly string[]).includes(table);
}

export type CountTables = {
  row_counts: { tenant_id: string; table_name: CountedTable; slot: number; amount: number };
};

/** Beyond this a total that has to be counted is not worth what counting costs. */
export const exactTotalLimit = 10_000;

export type Total = {
  total: number;
  /** There are more rows than were counted. */
  isCapped: boolean;
};

const builder = queryBuilder<CountTables>();

/** All rows of a tenant in a counted table: exact, at the price of a look-up. */
const tableTotal = read<{ tenantId: string; table: CountedTable }, { total: number }>((p) =>
  builder
    .selectFrom('row_counts')
    .select(sql<number>`coalesce(sum(amount), 0)::bigint`.as('total'))
    .where('tenant_id', '=', p.tenantId)
    .where('table_name', '=', p.table),
);

/** For many rows created or deleted at a time, in addition to those that `withAudit` counts. */
export const addToTotal = write<{ tenantId: string; table: CountedTable; slot: number; amount: number }, never>((p) =>
  builder
    .insertInto('row_counts')
    .values({ tenant_id: p.tenantId, table_name: p.table, slot: p.slot, amount: p.amount })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'table_name', 'slot'])
        .doUpdateSet({ amount: sql`row_counts.amount + excluded.amount` }),
    ),
);

/** Number of rows of a tenant in a counted table. */
export async function totalOf(db: TenantDb, table: CountedTable): Promise<number> {
  return (await db.first(tableTotal({ tenantId: db.tenantId, table })))!.total;
}

const farOffset = 1000;

/** One page of all rows, together with the total of their table, in one batch. */
export async function pageOfTable<Row>(
  db: TenantDb,
  page: ReadStatement<Row>,
  table: CountedTable,
  offset: number,
): Promise<{ rows: Row[] } & Total> {
  // Skipping many rows takes long enough to hold up others.
  const pool: Reads = offset > farOffset ? db.interactive : db;
  // Without filters there are as many texts as there are orders: few enough to keep prepared.
  const prepared = { ...page, prepare: true };
  const [rows, [counted]] = await pool.batch([prepared, tableTotal({ tenantId: db.tenantId, table })]);
  return { rows, total: counted!.total, isCapped: false };
}

/** How many rows match, counted no further than one beyond what is exact. */
export function countMatches(matching: {
  limit(count: number): Expression<unknown>;
}): ReadStatement<{ total: number }> {
  const some = matching.limit(exactTotalLimit + 1);
  const compiled = sql`select count(*) as total from (${some}) as counted`.compile(builder);
  return { kind: 'read', text: compiled.sql, values: compiled.parameters, prepare: false };
}

/**
 * One page of a filtered list, on the interactive pool, because a search may take long. A page that is not
 * full says itself how many rows there are; otherwise `count` (which stops at `exactTotalLimit + 1`) does.
 */
export async function pageOfMatches<Row>(
  db: { readonly interactive: Statements },
  page: Query<Row>,
  count: Query<{ total: number }>,
  place: { limit: number; offset: number },
): Promise<{ rows: Row[] } & Total> {
  return withTotal(db, await db.interactive.all(page), count, place);
}

/** The same of a page that was read already. */
export async function withTotal<Row>(
  db: { readonly interactive: Statements },
  rows: Row[],
  count: Query<{ total: number }>,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: Row[] } & Total> {
  const place = { limit, offset, rowCount: rows.length };
  const counted = isLastPage(place) ? undefined : await db.interactive.first(count);
  return { rows, ...totalOfPage(counted?.total ?? 0, place) };
}

type Place = { limit: number; offset: number; rowCount: number };

function isLastPage({ limit, offset, rowCount }: Place): boolean {
  return rowCount < limit && (rowCount > 0 || offset === 0);
}

/** The total to report for a count that stopped at `exactTotalLimit + 1`, for a page of `rowCount` rows. */
export function totalOfPage(counted: number, place: Place): Total {
  const { offset, rowCount } = place;
  if (isLastPage(place)) return { total: offset + rowCount, isCapped: false };
  const isCapped = counted > exactTotalLimit;
  // A full page may have a successor, and a client that follows the total must find it.
  const min = isCapped && rowCount > 0 ? offset + rowCount + 1 : 0;
  return { total: Math.max(counted, min), isCapped };
}
