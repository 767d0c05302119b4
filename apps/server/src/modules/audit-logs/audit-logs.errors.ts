import { defineError } from '#core/base/errors/app-error';

export const VerificationRunning = defineError(
  'CONFLICT',
  'A verification of this audit trail is already running. Wait for its answer, then try again.',
  'VERIFICATION_RUNNING',
  5,
);
export const ExportRunning = defineError(
  'CONFLICT',
  'An export of this audit trail is already running. Wait until it ends, or cancel it.',
  'EXPORT_RUNNING',
  5,
);
export const VerificationsRunning = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Other verifications are running. Try again after the time in Retry-After.',
  'VERIFICATIONS_RUNNING',
  5,
);
export const ExportsRunning = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Other exports are running. Try again after the time in Retry-After.',
  'AUDIT_EXPORTS_RUNNING',
  5,
);
export const PeriodInvalid = defineError(
  'UNPROCESSABLE_ENTITY',
  'from must be before to. Change the time range.',
  'PERIOD_INVALID',
);
