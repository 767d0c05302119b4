import { defineError } from '#core/errors/app-error';

export const OperationNotFound = defineError('NOT_FOUND', 'There is no operation with this key.');
export const TenantOverrideNotFound = defineError('NOT_FOUND', 'The override does not exist.');
export const RuleForAll = defineError(
  'AUTHORIZATION_ERROR',
  'An override of the system tenant is the rule for all: system administrators alone change it.',
  'SYSTEM_LEVEL',
);
export const PeriodTurned = defineError('UNPROCESSABLE_ENTITY', 'from has to be before to.', 'PERIOD_INVALID');
export const PeriodTooLong = defineError(
  'UNPROCESSABLE_ENTITY',
  'Over all tenants a period is at most 7 days. Ask for a shorter one, or for one tenant with tenantId.',
  'PERIOD_TOO_LONG',
);
export const CeilingInvalid = defineError(
  'UNPROCESSABLE_ENTITY',
  'A ceiling is a whole number from 1 on.',
  'CEILING_INVALID',
);
