import type { Statements } from '#core/db/scopes';
import { findReach, listLogs, type LogFilters, type LogPage } from '#modules/logs/logs.queries';
import type { LogRow } from '#modules/logs/logs.tables';

/** Factor by which the read range grows when it has too few matching lines. */
const growth = 8;

/**
 * A page of matching lines, in order. Unpacking a block costs far more than finding it, so blocks are read from the requested end
 * of the log, and only as many as the page needs.
 */
export async function readLogs(db: Statements, filters: LogFilters, page: LogPage): Promise<LogRow[]> {
  const { limit, offset, descending } = page;
  for (let lines = offset + limit; ;) {
    const found = await db.first(findReach(filters, { lines, descending }));
    if (found === undefined) return db.all(listLogs(filters, page, {}));
    // All lines up to that time, in any block.
    const within = descending ? { since: found.reach } : { until: found.reach };
    const rows = await db.all(listLogs(filters, page, within));
    if (rows.length === limit) return rows;
    lines = growth * found.lines;
  }
}
