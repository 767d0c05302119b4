import { keyedHash } from '#core/crypto/secrets';
import type { Query } from '#core/db/query';
import type { ErrorDefinition } from '#core/errors/app-error';
import type { Services } from '#core/services';
import { addressBucket, isLoopback, throttleRules } from '#modules/auth/auth.rules';
import { countAttempt, refundAttempt } from '#modules/auth/throttle.queries';

type Budget = { key: string; max: number; windowMs: number };

/** One budget, or several that an attempt draws from at once. */
export type Attempt = {
  /** @throws the given error, with the seconds to wait, when a budget is spent; nothing is drawn then. */
  admit(): Promise<void>;
  /** The statements that give the attempt back, for the transaction of its success. */
  refund(): Query<never>[];
};

/** Guesses at one account's password: by account wherever they come from, by address whatever they aim at. */
export function loginAttempt(services: Services, email: string, ip: string, error: ErrorDefinition): Attempt {
  const key = services.encryption.keyFor('throttle');
  // Hashed, so that the table is no list of who tried to log in.
  const account = { key: `login:${keyedHash(key, email)}`, ...throttleRules.account };
  const address = { key: `login-ip:${addressBucket(ip)}`, ...throttleRules.address };
  return attempt(services, isLoopback(ip) ? [account] : [account, address], error);
}

export function registrationAttempt(services: Services, ip: string, error: ErrorDefinition): Attempt {
  return attempt(
    services,
    isLoopback(ip) ? [] : [{ key: `register-ip:${addressBucket(ip)}`, ...throttleRules.registration }],
    error,
  );
}

/** Reset mails to one address, whether or not it has an account. */
export function resetMailAttempt(services: Services, email: string, error: ErrorDefinition): Attempt {
  const key = services.encryption.keyFor('throttle');
  return attempt(services, [{ key: `reset:${keyedHash(key, email)}`, ...throttleRules.resetMail }], error);
}

function attempt(services: Services, budgets: readonly Budget[], error: ErrorDefinition): Attempt {
  let drawn: { key: string; windowEndsAt: string }[] = [];
  const refund = () => drawn.map((draw) => refundAttempt(draw));
  return {
    refund,
    async admit() {
      if (budgets.length === 0) return;
      const db = services.database.credential().slow;
      const now = services.now();
      const counted = await db.flight(
        budgets.map((budget) =>
          countAttempt({
            key: budget.key,
            now: now.toISOString(),
            windowEndsAt: new Date(now.getTime() + budget.windowMs).toISOString(),
          }),
        ),
      );
      const draws = budgets.map((budget, at) => ({ budget, row: counted[at]![0]! }));
      drawn = draws.map(({ budget, row }) => ({ key: budget.key, windowEndsAt: row.window_ends_at }));
      const spent = draws.filter(({ budget, row }) => row.failures > budget.max);
      if (spent.length === 0) return;
      await db.flight(refund());
      drawn = [];
      const waitMs = Math.max(...spent.map(({ row }) => Date.parse(row.window_ends_at))) - now.getTime();
      throw error({ retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
    },
  };
}
