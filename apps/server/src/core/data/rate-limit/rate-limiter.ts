import type { AppError, ErrorDefinition } from '#core/base/errors/app-error';

/** At most `max` requests of a key within a window, which begins with the first of them; times in milliseconds. */
export type Limit = { max: number; windowMs: number };

/** A request over the limit is a violation and blocks the key. After `maxViolations`, they are counted from the start. */
export type BlockingLimit = Limit & { blockMs: number; maxViolations: number };

export type Refusal = { retryAfterMs: number; isLastViolation: boolean };

export type MaybePromise<Value> = Value | Promise<Value>;

/** Counts requests by key. Refused requests are not counted, so retrying does not extend a block. */
export type RateLimiter = {
  take(key: string, limit: BlockingLimit): MaybePromise<Refusal | undefined>;
  /** How many requests of the key are counted in its window. */
  count(key: string, windowMs: number): MaybePromise<number>;
};

/** Violations are remembered for this long after the last one. */
export const violationMemoryMs = 24 * 60 * 60_000;

/** The error of a refusal, with `Retry-After`. */
export function refused(error: ErrorDefinition, retryAfterMs: number): AppError {
  return error({ retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) });
}
