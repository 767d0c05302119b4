import { exactTotalLimit } from '#core/db/totals';

export type Page<Item> = {
  data: Item[];
  pagination: { total: number; limit: number; offset: number; hasMore: boolean };
};

/** The `{data, pagination}` of a list; a total that was not counted to its end is marked in a header. */
export function toPage<Item>(
  data: Item[],
  { limit, offset }: { limit: number; offset: number },
  total: number,
  setHeader: (name: string, value: string) => void,
): Page<Item> {
  if (total > exactTotalLimit) setHeader('x-total-capped', 'true');
  return { data, pagination: { total, limit, offset, hasMore: offset + data.length < total } };
}

/** `name` or `-name` of a `sort` parameter. */
export function parseSort<Column extends string>(
  sort: string | undefined,
): { column: Column; descending: boolean } | undefined {
  if (sort === undefined) return undefined;
  const descending = sort.startsWith('-');
  return { column: (descending ? sort.slice(1) : sort) as Column, descending };
}
