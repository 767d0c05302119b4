import type { Statements } from '#core/data/db/scopes';
import type { LogRow } from '#core/data/log/log-store.queries';
import { nextLogs, type LogFilters } from '#modules/logs/logs.queries';

/** Limits of one statement. More lines, converted to text at once, would block the event loop for too long. */
const atOnce = { limit: 500, maxBytes: 2 * 1024 ** 2 };

type Reading = {
  signal: AbortSignal;
  /** The pause after each step, which began at this time (`performance.now`). */
  pause(startedAt: number): Promise<void>;
};

/** All matching lines in order of time, some at once. No connection is held between two statements. */
export async function* linesInOrder(
  db: Statements,
  filters: LogFilters,
  { signal, pause }: Reading,
): AsyncGenerator<LogRow[]> {
  for (let after: LogRow | undefined; ;) {
    signal.throwIfAborted();
    const startedAt = performance.now();
    const rows = await db.all(nextLogs(filters, { ...atOnce, after }));
    if (rows.length === 0) return;
    yield rows;
    after = rows.at(-1);
    await pause(startedAt);
  }
}
