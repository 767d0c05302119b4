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
export const PeriodInvalid = defineError('UNPROCESSABLE_ENTITY', 'from has to be before to.', 'PERIOD_INVALID');
