import { defineError } from '#core/base/errors/app-error';

export const SectionNotFound = defineError(
  'NOT_FOUND',
  'The section does not exist. Use console, database, formatting, cleanup or log-levels.',
);
export const ConfigInvalid = defineError(
  'VALIDATION_ERROR',
  'The log configuration is invalid. See details.errors.',
  'CONFIG_INVALID',
);
export const ExportNotFound = defineError('NOT_FOUND', 'The export does not exist or has expired. Create a new one.');
export const ExportTooLarge = defineError(
  'UNPROCESSABLE_ENTITY',
  'More than 250,000 records or 512 MiB match. Choose a shorter time range, a tenant or a level.',
  'EXPORT_TOO_LARGE',
);
export const ExportsRunning = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Other exports are running. Try again after the time in Retry-After.',
  'EXPORTS_RUNNING',
  5,
);
export const ArchiveNotFound = defineError(
  'NOT_FOUND',
  'The archive does not exist. List the archives to get their names.',
);
export const SearchesRunning = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Other archive searches are running. Try again after the time in Retry-After.',
  'SEARCHES_RUNNING',
  5,
);
export const PeriodInvalid = defineError(
  'UNPROCESSABLE_ENTITY',
  'startTime must be before endTime; analytics allow at most 7 days. Change the time range.',
  'PERIOD_INVALID',
);
