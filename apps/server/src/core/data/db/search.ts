import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';

import { searchPatterns, type ReadStatement } from '#core/data/db/query';
import type { TenantDb } from '#core/data/db/scopes';
import { totalOf, type CountedTable } from '#core/data/db/totals';

/** The words that a row's `search_text` has to contain, and whether to find them by its index. */
export type Search = { readonly patterns: readonly string[]; readonly byIndex: boolean };

/**
 * The word index holds the words of all tenants: its cost grows with their rows. Up to this number of rows of its own, a tenant
 * reads them all faster, and its cost does not depend on other tenants.
 */
const maxScanned = 20_000;

/** How to search a tenant's rows of a table for the words of a search box; undefined for no search. */
export async function planSearch(
  db: TenantDb,
  table: CountedTable,
  text: string | undefined,
): Promise<Search | undefined> {
  if (text === undefined) return undefined;
  const patterns = searchPatterns(text);
  return { patterns, byIndex: patterns.length > 0 && (await totalOf(db, table)) > maxScanned };
}

/** Tables with an index over words, and one over the short texts of a tenant. */
type SearchedTable = 'contacts' | 'resources' | 'spaces';

/** Each word has to be in it. */
export function containsWords(
  search: Search | undefined,
  { table, tenantId }: { table: SearchedTable; tenantId: string },
): Expression<SqlBool>[] {
  if (search === undefined || search.patterns.length === 0) return [];
  if (search.byIndex) return search.patterns.map((pattern) => sql<SqlBool>`search_text like lower(${pattern})`);
  // Another collation compares the same here, and is one that the index over words does not serve; and a subquery is run
  // once, where a function would be for every row.
  const words = search.patterns.map((pattern) => sql`search_text collate "C" like (select lower(${pattern}))`);
  const found = (isOfLength: RawBuilder<unknown>) =>
    sql`select id from ${sql.table(table)}
      where tenant_id = ${tenantId} and ${isOfLength} and ${sql.join(words, sql` and `)}`;
  // One index covers short texts, another one long texts.
  const [short, long] = [found(sql`octet_length(search_text) <= 1000`), found(sql`octet_length(search_text) > 1000`)];
  return [sql<SqlBool>`id = any (array(${short} union all ${long}))`];
}

const maxWordsPrepared = 3;

/** Prepares only the texts of a search box without filters: they are few, and planning takes longer than execution. */
export function prepareSearch<Row>(
  query: ReadStatement<Row>,
  filters: { search?: Search | undefined },
): ReadStatement<Row> {
  const { search, ...others } = filters;
  const isAlone = Object.values(others).every((value) => value === undefined);
  const isShort = search !== undefined && !search.byIndex && search.patterns.length <= maxWordsPrepared;
  return isAlone && isShort ? { ...query, prepare: true, onePlan: true } : query;
}
