import { defineError } from '#core/errors/app-error';

export const SectionNotFound = defineError(
  'NOT_FOUND',
  'The sections are console, database, formatting, cleanup and log-levels.',
);
export const ConfigInvalid = defineError('VALIDATION_ERROR', 'The log configuration is not valid.', 'CONFIG_INVALID');
export const ExportNotFound = defineError('NOT_FOUND', 'There is no export of this name, or it has expired.');
export const ExportTooLarge = defineError(
  'UNPROCESSABLE_ENTITY',
  'More than 250,000 records or 512 MiB match: choose a shorter time, a tenant or a level.',
  'EXPORT_TOO_LARGE',
);
export const ExportsRunning = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Other exports are being written right now: try again when they are done.',
  'EXPORTS_RUNNING',
);
export const PeriodInvalid = defineError(
  'UNPROCESSABLE_ENTITY',
  'startTime has to be before endTime, and for analytics at most 7 days.',
  'PERIOD_INVALID',
);
