import { defineError } from '#core/base/errors/app-error';

export const JobNotFound = defineError('NOT_FOUND', 'The translation job does not exist.');
export const SomeEntityNotFound = defineError(
  'NOT_FOUND',
  'A record in entity_ids does not exist or has another type. Nothing was translated. Correct entity_ids and resubmit.',
);
export const JobNotRunning = defineError('CONFLICT', 'The translation job has already ended.', 'JOB_ENDED');
export const JobNotFailed = defineError(
  'CONFLICT',
  'The translation job has not failed. Only failed jobs can be resumed.',
  'JOB_NOT_FAILED',
);
export const EqualJobRunning = defineError(
  'CONFLICT',
  'An equal translation job is already running. Wait for it, or cancel it first.',
  'JOB_ALREADY_RUNNING',
  60,
);
export const TooManyJobs = defineError(
  'RATE_LIMIT_EXCEEDED',
  'The tenant has too many running translation jobs. Start this one after another has ended.',
  'TOO_MANY_JOBS',
  60,
);
