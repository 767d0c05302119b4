import { createKeyedTurns } from '#core/base/concurrency/keyed-turns';
import type { Encryption } from '#core/base/crypto/encryption';
import { keyedHash } from '#core/base/crypto/secrets';
import type { ErrorDefinition } from '#core/base/errors/app-error';
import { isoTime } from '#core/base/iso-time';
import type { Database } from '#core/data/db/database';
import { perDatabase } from '#core/data/db/per-database';
import type { Query } from '#core/data/db/query';
import { refundAttempt, takeAttempt } from '#core/data/rate-limit/postgres-store.queries';
import { refused, type Limit } from '#core/data/rate-limit/rate-limiter';

/** Part of a key for an e-mail address or a number, hashed so that the table does not list them; equal for all spellings. */
export function limitKeyOf({ encryption }: { encryption: Encryption }, text: string): string {
  return keyedHash(encryption.keyFor('rate-limits'), text.normalize('NFKC').toLowerCase());
}

/** An attempt counts against all its limits, or against none. */
export type LimitedAttempt = {
  /** @throws the given error with `Retry-After`, when a limit is reached; nothing is counted then. */
  admit(): Promise<void>;
  /** The statements that take the attempt back, for the transaction of its success. */
  refund(): Query<never>[];
};

/** Counted before it is evaluated, so that parallel attempts cannot exceed a limit, and shared by all processes. */
export function createLimitedAttempt(
  services: { database: Database; now(): Date },
  limits: readonly (Limit & { key: string })[],
  error: ErrorDefinition,
): LimitedAttempt {
  let taken: { key: string; windowEndsAt: string }[] = [];
  const refund = () => taken.map((one) => refundAttempt(one));
  return {
    refund,
    async admit() {
      if (limits.length === 0) return;
      const db = services.database.credential().interactive;
      const at = services.now().getTime();
      const now = isoTime(at);
      const takes = limits.map(({ key, windowMs }) => takeAttempt({ key, now, windowEndsAt: isoTime(at + windowMs) }));
      const keys = limits.map(({ key }) => key);
      const rows = await turns(services.database)(keys, () => db.batch(takes));
      const windows = limits.map(({ key, max }, index) => ({ key, max, ...rows[index]![0]! }));
      taken = windows.map(({ key, window_ends_at: windowEndsAt }) => ({ key, windowEndsAt }));
      const reached = windows.filter(({ attempts, max }) => attempts > max);
      if (reached.length === 0) return;
      await db.batch(refund());
      taken = [];
      const endsAt = Math.max(...reached.map((window) => Date.parse(window.window_ends_at)));
      throw refused(error, endsAt - at);
    },
  };
}

/**
 * In the database, all but one attempt of a key would wait for its row, each on a connection that others need. If one cannot
 * be counted, those behind it cannot either.
 */
const turns = perDatabase(createKeyedTurns);
