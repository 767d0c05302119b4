import type { Query } from '#core/db/query';
import type { TenantDb } from '#core/db/scopes';

/** Beyond this a total is not worth what counting costs; lists say so with `X-Total-Capped: true`. */
export const exactTotalLimit = 10_000;

/**
 * One page and how many rows there are in all. A page that is not full says so itself; otherwise `count`
 * (which stops at `exactTotalLimit + 1`) runs on the slow lane, where it cannot hold up other requests.
 */
export async function pageWithTotal<Row>(
  db: TenantDb,
  page: Query<Row>,
  count: Query<{ total: number }>,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: Row[]; total: number }> {
  const rows = await db.all(page);
  const isLastPage = rows.length < limit && (rows.length > 0 || offset === 0);
  if (isLastPage) return { rows, total: offset + rows.length };
  const counted = await db.slow.first(count);
  return { rows, total: counted?.total ?? 0 };
}
