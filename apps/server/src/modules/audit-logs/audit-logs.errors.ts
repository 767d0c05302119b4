import { defineError } from '#core/errors/app-error';

export const VerificationRunning = defineError(
  'CONFLICT',
  'The trail of this tenant is being verified already: wait for that answer, or ask again later.',
  'VERIFICATION_RUNNING',
);
export const ExportRunning = defineError(
  'CONFLICT',
  'The trail of this tenant is being exported already: wait until that export is complete or broken off.',
  'EXPORT_RUNNING',
);
export const VerificationsRunning = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Other trails are being verified right now: try again when they are done.',
  'VERIFICATIONS_RUNNING',
);
export const ExportsRunning = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Other trails are being exported right now: try again when they are done.',
  'AUDIT_EXPORTS_RUNNING',
);
export const PeriodInvalid = defineError('UNPROCESSABLE_ENTITY', 'from has to be before to.', 'PERIOD_INVALID');
