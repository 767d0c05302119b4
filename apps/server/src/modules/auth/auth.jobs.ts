import { deleteInBatches } from '#core/data/db/batches';
import { deleteEndedWindows } from '#core/data/rate-limit/postgres-store.queries';
import type { Job } from '#core/platform/jobs/job';
import type { Services } from '#core/platform/services';
import { deleteExpiredOneTimeTokens } from '#modules/auth/accounts/accounts.queries';
import { deleteOldLogins } from '#modules/auth/sessions/known-logins.queries';
import { deleteExpiredRefreshTokens } from '#modules/auth/sessions/refresh-tokens.queries';
import { deleteEndedSessions } from '#modules/auth/sessions/sessions.queries';

const dayMs = 86_400_000;
const keepEndedMs = 30 * dayMs;
const keepLoginsMs = 90 * dayMs;

export const cleanUp: Job = {
  name: 'session-clean-up',
  description: 'Deletes sessions and tokens a month after their end, and attempt counters whose window is over.',
  schedule: '11 * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: ({ services, signal }) => deleteExpired(services, signal),
};

/**
 * Deletes tokens and sessions a month after their end, known login origins after three months, and expired counters.
 */
async function deleteExpired(services: Pick<Services, 'database' | 'now'>, signal: AbortSignal): Promise<void> {
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
