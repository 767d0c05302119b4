import { defineError } from '#core/base/errors/app-error';

export const TooManyFeedbacks = defineError(
  'RATE_LIMIT_EXCEEDED',
  'The rate limit for feedback is 60 requests an hour. Retry after the time in `Retry-After`.',
  'TOO_MANY_FEEDBACKS',
);
export const FeedbackNotFound = defineError('NOT_FOUND', 'The feedback does not exist.');
export const SpaceNotFound = defineError(
  'NOT_FOUND',
  'The space does not exist. Check `entity_id`.',
  'ENTITY_NOT_FOUND',
);
export const ResourceNotFound = defineError(
  'NOT_FOUND',
  'The resource does not exist. Check `entity_id`.',
  'ENTITY_NOT_FOUND',
);
