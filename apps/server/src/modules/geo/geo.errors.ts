import { defineError } from '#core/base/errors/app-error';

export const TooManyLookups = defineError(
  'RATE_LIMIT_EXCEEDED',
  'The rate limit for place lookups is 60 requests a minute. Retry after the time in `Retry-After`.',
);
