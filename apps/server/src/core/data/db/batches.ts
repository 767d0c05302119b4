import type { Query } from '#core/data/db/query';
import type { Statements } from '#core/data/db/scopes';

const batchSize = 5000;

/**
 * Deletes all that matches, at most 5,000 rows with one statement: none holds its locks for long or runs out of its time.
 * @param next a statement that deletes no more than `most` rows and answers one for each.
 * @param signal checked before each statement, so that the work stops when its caller has given up
 * @param maxInAll so many at most, and none where it is not above 0.
 * @returns how many rows were deleted.
 */
export async function deleteInBatches(
  db: { readonly interactive: Statements },
  next: (max: number) => Query<unknown>,
  signal: AbortSignal,
  maxInAll = Number.POSITIVE_INFINITY,
): Promise<number> {
  let total = 0;
  while (total < maxInAll) {
    signal.throwIfAborted();
    const limit = Math.min(batchSize, maxInAll - total);
    const { length } = await db.interactive.all(next(limit));
    total += length;
    if (length < limit) break;
  }
  return total;
}
