import { defineError } from '#core/base/errors/app-error';

export const AlertNotFound = defineError('NOT_FOUND', 'The alert does not exist.');
export const JobNotFound = defineError(
  'NOT_FOUND',
  'The job does not exist. GET /api/v1/system/dispatcher/jobs lists all jobs.',
);
export const ScheduleInvalid = defineError(
  'VALIDATION_ERROR',
  'The schedule is invalid. See details.problem.',
  'SCHEDULE_INVALID',
);
