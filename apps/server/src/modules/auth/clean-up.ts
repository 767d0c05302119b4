import { deleteInBatches } from '#core/data/db/batches';
import { deleteEndedWindows } from '#core/data/rate-limit/postgres-store.queries';
import type { Services } from '#core/platform/services';
import { deleteExpiredOneTimeTokens } from '#modules/auth/accounts/accounts.queries';
import { deleteOldLogins } from '#modules/auth/sessions/known-logins.queries';
import { deleteExpiredRefreshTokens } from '#modules/auth/sessions/refresh-tokens.queries';
import { deleteEndedSessions } from '#modules/auth/sessions/sessions.queries';

const dayMs = 86_400_000;
const keepEndedMs = 30 * dayMs;
const keepLoginsMs = 90 * dayMs;

/**
 * Deletes tokens and sessions a month after their end, known login origins after three months, and expired counters.
 */
export async function deleteExpired(services: Pick<Services, 'database' | 'now'>, signal: AbortSignal): Promise<void> {
  const now = services.now();
  const before = new Date(now.getTime() - keepEndedMs).toISOString();
  const db = services.database.credential();
  await deleteInBatches(db, (max) => deleteEndedWindows({ now: now.toISOString(), max }), signal);
  await deleteInBatches(db, (limit) => deleteExpiredOneTimeTokens({ before, limit }), signal);
  await deleteInBatches(db, (limit) => deleteExpiredRefreshTokens({ before, limit }), signal);
  await deleteInBatches(db, (limit) => deleteEndedSessions({ before, limit }), signal);
  const unused = new Date(now.getTime() - keepLoginsMs).toISOString();
  await deleteInBatches(db, (limit) => deleteOldLogins({ before: unused, limit }), signal);
}
