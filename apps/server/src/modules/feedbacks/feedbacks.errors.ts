import { defineError } from '#core/errors/app-error';

export const TooManyFeedbacks = defineError(
  'RATE_LIMIT_EXCEEDED',
  'A person gives feedback at most 60 times an hour. Try again when Retry-After has passed.',
  'TOO_MANY_FEEDBACKS',
);
export const FeedbackNotFound = defineError('NOT_FOUND', 'The feedback does not exist.');
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.', 'ENTITY_NOT_FOUND');
export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.', 'ENTITY_NOT_FOUND');
