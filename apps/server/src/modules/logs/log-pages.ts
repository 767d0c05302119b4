import type { Statements } from '#core/db/scopes';
import { findReach, listLogs, type LogFilters, type LogPage } from '#modules/logs/logs.queries';
import type { LogRow } from '#modules/logs/logs.tables';

/** By how much further the log is read when too few of the lines so far were those looked for. */
const growth = 8;

/**
 * A page of the lines that match, in order. Lines are kept in blocks, which cost far more to take apart than to find; so
 * they are read from the end of the log that is asked for, only as far as it takes.
 */
export async function readLogs(db: Statements, filters: LogFilters, page: LogPage): Promise<LogRow[]> {
  const { limit, offset, descending } = page;
  for (let lines = offset + limit; ; lines *= growth) {
    const found = await db.first(findReach(filters, { lines, descending }));
    if (found === undefined) return db.all(listLogs(filters, page));
    // All lines as far as that, whichever blocks they are in.
    const within = descending ? { since: found.reach } : { until: found.reach };
    const rows = await db.all(listLogs({ ...filters, ...within }, page));
    if (rows.length === limit) return rows;
  }
}
