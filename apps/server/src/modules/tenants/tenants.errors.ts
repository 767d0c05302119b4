import { defineError } from '#core/errors/app-error';

export const TenantNotFound = defineError('NOT_FOUND', 'The tenant does not exist.');
export const DefaultLanguageMissing = defineError(
  'UNPROCESSABLE_ENTITY',
  'The default language has to be one of the languages.',
  'DEFAULT_LANGUAGE_MISSING',
);
