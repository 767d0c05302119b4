import { defineError } from '#core/base/errors/app-error';

export const IdempotencyKeyInvalid = defineError(
  'BAD_REQUEST',
  'An Idempotency-Key is 1 to 255 visible ASCII characters, bare or as a string in double quotes.',
  'IDEMPOTENCY_KEY_INVALID',
);
export const IdempotencyKeyInUse = defineError(
  'CONFLICT',
  'A request with this Idempotency-Key is being worked on. Send it again shortly.',
  'IDEMPOTENCY_KEY_IN_USE',
);
export const IdempotencyKeyReused = defineError(
  'UNPROCESSABLE_ENTITY',
  'This Idempotency-Key was used for another request. Use a new key for what is not the same.',
  'IDEMPOTENCY_KEY_REUSED',
);
export const IdempotencyOutcomeUnknown = defineError(
  'CONFLICT',
  'The request with this Idempotency-Key ended before its outcome was recorded, and may have been done all the same: look whether it was, and only where it was not, send it with a new key.',
  'IDEMPOTENCY_OUTCOME_UNKNOWN',
);
export const IdempotencyAnswerTooLong = defineError(
  'CONFLICT',
  'The request with this Idempotency-Key was done, but its answer was too long to be kept: read what came of it.',
  'IDEMPOTENCY_ANSWER_TOO_LONG',
);

/** What a key can meet with, on each route that takes one. */
export const idempotencyErrors = [
  IdempotencyKeyInvalid,
  IdempotencyKeyInUse,
  IdempotencyOutcomeUnknown,
  IdempotencyAnswerTooLong,
  IdempotencyKeyReused,
] as const;
