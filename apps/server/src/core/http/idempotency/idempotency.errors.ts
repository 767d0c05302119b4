import { defineError } from '#core/base/errors/app-error';

export const IdempotencyKeyInvalid = defineError(
  'BAD_REQUEST',
  'An Idempotency-Key is 1 to 255 visible ASCII characters, bare or as a string in double quotes.',
  'IDEMPOTENCY_KEY_INVALID',
);
export const IdempotencyKeyInUse = defineError(
  'CONFLICT',
  'A request with this Idempotency-Key is in progress. Retry shortly.',
  'IDEMPOTENCY_KEY_IN_USE',
  1,
);
export const IdempotencyKeyReused = defineError(
  'UNPROCESSABLE_ENTITY',
  'This Idempotency-Key was used for a different request. Use a new key.',
  'IDEMPOTENCY_KEY_REUSED',
);
export const IdempotencyOutcomeUnknown = defineError(
  'CONFLICT',
  'The request with this Idempotency-Key ended before its outcome was recorded. Check whether it took effect, and send it with a new key only if it did not.',
  'IDEMPOTENCY_OUTCOME_UNKNOWN',
);
export const IdempotencyAnswerTooLong = defineError(
  'CONFLICT',
  'The request with this Idempotency-Key was performed, but its response was too long to store. Fetch the record instead.',
  'IDEMPOTENCY_ANSWER_TOO_LONG',
);

/** Errors of a key, on each route that accepts one. */
export const idempotencyErrors = [
  IdempotencyKeyInvalid,
  IdempotencyKeyInUse,
  IdempotencyOutcomeUnknown,
  IdempotencyAnswerTooLong,
  IdempotencyKeyReused,
] as const;
