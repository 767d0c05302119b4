import type { Services } from '#core/services';
import { deleteExpiredOneTimeTokens } from '#modules/auth/accounts.queries';
import { deleteEndedSessions, deleteExpiredRefreshTokens } from '#modules/auth/sessions.queries';
import { deleteEndedWindows } from '#modules/auth/throttle.queries';

const keepEndedMs = 30 * 86_400_000;

/** Deletes what has been dead for a month (tokens, sessions) or has run out (counters). */
export async function deleteExpired(services: Pick<Services, 'database' | 'now'>): Promise<void> {
  const now = services.now();
  const before = new Date(now.getTime() - keepEndedMs).toISOString();
  await services.database
    .credential()
    .slow.flight([
      deleteEndedWindows({ now: now.toISOString() }),
      deleteExpiredOneTimeTokens({ before }),
      deleteExpiredRefreshTokens({ before }),
      deleteEndedSessions({ before }),
    ]);
}
