import type { Total } from '#core/data/db/totals';

export type Page<Item> = {
  data: Item[];
  pagination: { total: number; limit: number; offset: number; hasMore: boolean };
};

/** Sets a header of the answer. */
export type SetHeader = (name: string, value: string) => void;

/** The `{data, pagination}` of a list; a capped total is marked in a header. */
export function toPage<Item>(
  data: Item[],
  { limit, offset }: { limit: number; offset: number },
  { total, isCapped }: Total,
  setHeader: SetHeader,
): Page<Item> {
  if (isCapped) setHeader('x-total-capped', 'true');
  const seen = offset + data.length;
  return {
    data,
    pagination: { total: Math.max(total, data.length === 0 ? 0 : seen), limit, offset, hasMore: seen < total },
  };
}

/** `name` or `-name` of a `sort` parameter. */
export function parseSort<Sort extends string>(
  sort: Sort | undefined,
): { column: Exclude<Sort, `-${string}`>; descending: boolean } | undefined {
  if (sort === undefined) return undefined;
  const descending = sort.startsWith('-');
  return { column: (descending ? sort.slice(1) : sort) as Exclude<Sort, `-${string}`>, descending };
}
