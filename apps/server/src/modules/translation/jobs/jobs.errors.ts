import { defineError } from '#core/errors/app-error';

export const JobNotFound = defineError('NOT_FOUND', 'The translation job does not exist.');
export const SomeEntityNotFound = defineError(
  'NOT_FOUND',
  'One of entity_ids is no record of that type. Nothing was translated.',
);
export const JobNotRunning = defineError('CONFLICT', 'The translation job has ended.', 'JOB_ENDED');
export const JobNotFailed = defineError('CONFLICT', 'Only a job that failed can be resumed.', 'JOB_NOT_FAILED');
export const EqualJobRunning = defineError(
  'CONFLICT',
  'A job that was asked for the same is under way.',
  'JOB_UNDER_WAY',
);
export const TooManyJobs = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many translations of many records are under way. Begin this one when one of them has ended.',
  'TOO_MANY_JOBS',
);
