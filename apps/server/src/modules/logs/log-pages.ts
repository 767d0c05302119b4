import type { Statements } from '#core/db/scopes';
import { findReach, listLogs, type LogFilters, type LogPage, type LogReach } from '#modules/logs/logs.queries';
import type { LogRow } from '#modules/logs/logs.tables';

/** By how much further the log is read when too few of the lines so far were those looked for. */
const growth = 8;

/**
 * A page of the lines that match, in order. Lines are kept in blocks, which cost far more to take apart than to find; so
 * they are read from the end of the log that is asked for, only as far as it takes.
 * @param after only what was said behind this line
 */
export async function readLogs(
  db: Statements,
  filters: LogFilters,
  { after, ...page }: LogPage & Pick<LogReach, 'after'>,
): Promise<LogRow[]> {
  const { limit, offset, descending } = page;
  for (let lines = offset + limit; ;) {
    const found = await db.first(findReach(filters, { lines, descending, after }));
    if (found === undefined) return db.all(listLogs(filters, page, { after }));
    // All lines as far as that, whichever blocks they are in.
    const within = descending ? { since: found.reach } : { until: found.reach };
    const rows = await db.all(listLogs(filters, page, { after, ...within }));
    if (rows.length === limit) return rows;
    lines = growth * found.lines;
  }
}
