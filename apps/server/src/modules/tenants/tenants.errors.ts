import { defineError } from '#core/errors/app-error';

export const TenantNotFound = defineError('NOT_FOUND', 'The tenant does not exist.');
export const DefaultLanguageMissing = defineError(
  'UNPROCESSABLE_ENTITY',
  'The default language has to be one of the languages.',
  'DEFAULT_LANGUAGE_MISSING',
);
export const TenantStatusRefused = defineError(
  'CONFLICT',
  'The tenant has another status than this can be done from.',
  'TENANT_STATUS',
);
export const SystemTenantKept = defineError(
  'UNPROCESSABLE_ENTITY',
  'The system tenant cannot be suspended or deleted.',
  'SYSTEM_TENANT',
);
