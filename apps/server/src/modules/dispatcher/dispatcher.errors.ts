import { defineError } from '#core/errors/app-error';

export const AlertNotFound = defineError('NOT_FOUND', 'There is no alert with this id.');
export const JobNotFound = defineError(
  'NOT_FOUND',
  'There is no job of this name: GET /api/v1/system/dispatcher/jobs.',
);
export const ScheduleInvalid = defineError(
  'VALIDATION_ERROR',
  'The schedule cannot be kept: details.problem says why.',
  'SCHEDULE_INVALID',
);
