import { sql, type Expression, type SqlBool } from 'kysely';

import { searchPatterns } from '#core/db/query';
import type { TenantDb } from '#core/db/scopes';
import { totalOf, type CountedTable } from '#core/db/totals';

/** The words that a row's `search_text` has to contain, and whether to find them by its index. */
export type Search = { readonly patterns: readonly string[]; readonly byIndex: boolean };

/**
 * The index over words holds those of all tenants: what it costs grows with the others' rows. Up to so many rows of
 * its own, reading them all is the shorter way, and takes no longer whoever else is there.
 */
const mostScanned = 20_000;

/** How to search a tenant's rows of a table for the words of a search box; undefined for no search. */
export async function planSearch(
  db: TenantDb,
  table: CountedTable,
  text: string | undefined,
): Promise<Search | undefined> {
  if (text === undefined) return undefined;
  const patterns = searchPatterns(text);
  return { patterns, byIndex: patterns.length > 0 && (await totalOf(db, table)) > mostScanned };
}

/** One condition for each word. */
export function containsWords(search: Search | undefined): Expression<SqlBool>[] {
  if (search === undefined) return [];
  // Another collation compares the same here, and is one that the index does not serve.
  const text = search.byIndex ? sql`search_text` : sql`search_text collate "C"`;
  return search.patterns.map((pattern) => sql<SqlBool>`${text} like lower(${pattern})`);
}
