import { defineError } from '#core/base/errors/app-error';

export const OperationNotFound = defineError('NOT_FOUND', 'The operation does not exist.');
export const TenantOverrideNotFound = defineError('NOT_FOUND', 'The override does not exist.');
export const InstallationOverride = defineError(
  'AUTHORIZATION_ERROR',
  'An override of the system tenant applies to all tenants. Only system administrators can change it.',
  'SYSTEM_LEVEL',
);
export const PeriodInvalid = defineError('UNPROCESSABLE_ENTITY', 'from must be before to.', 'PERIOD_INVALID');
export const PeriodTooLong = defineError(
  'UNPROCESSABLE_ENTITY',
  'A period over all tenants can be at most 7 days. Request a shorter one, or select one tenant with tenantId.',
  'PERIOD_TOO_LONG',
);
export const QuotaLimitInvalid = defineError(
  'UNPROCESSABLE_ENTITY',
  'A quota limit must be a positive integer.',
  'QUOTA_LIMIT_INVALID',
);
