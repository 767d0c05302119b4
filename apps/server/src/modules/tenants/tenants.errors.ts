import { defineError } from '#core/base/errors/app-error';

export const TenantNotFound = defineError('NOT_FOUND', 'The tenant does not exist.');
export const DefaultLanguageMissing = defineError(
  'UNPROCESSABLE_ENTITY',
  'The default language must be one of the languages.',
  'DEFAULT_LANGUAGE_MISSING',
);
export const TenantStatusConflict = defineError(
  'CONFLICT',
  'The status of the tenant does not permit this operation. Fetch the tenant to see its status.',
  'TENANT_STATUS_CONFLICT',
);
export const SystemTenantProtected = defineError(
  'UNPROCESSABLE_ENTITY',
  'The system tenant cannot be suspended or deleted.',
  'SYSTEM_TENANT_PROTECTED',
);
