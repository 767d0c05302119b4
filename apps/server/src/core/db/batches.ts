import type { Query } from '#core/db/query';
import type { Statements } from '#core/db/scopes';

const batchSize = 5000;

/**
 * Deletes all that matches, at most 5,000 rows with one statement: none holds its locks for long or runs out of its time.
 * @param next a statement that deletes no more than `most` rows and answers one for each.
 * @param signal asked before each statement: whoever gave up waiting must not be working still.
 * @param mostInAll so many at most, and none where it is not above 0.
 * @returns how many rows were deleted.
 */
export async function deleteInBatches(
  db: { readonly slow: Statements },
  next: (most: number) => Query<unknown>,
  signal: AbortSignal,
  mostInAll = Number.POSITIVE_INFINITY,
): Promise<number> {
  let total = 0;
  while (total < mostInAll) {
    signal.throwIfAborted();
    const most = Math.min(batchSize, mostInAll - total);
    const { length } = await db.slow.all(next(most));
    total += length;
    if (length < most) break;
  }
  return total;
}
