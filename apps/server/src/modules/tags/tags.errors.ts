import { defineError } from '#core/errors/app-error';

export const TagNotFound = defineError('NOT_FOUND', 'The tag does not exist.');
export const TagNameTaken = defineError(
  'CONFLICT',
  'A tag with this name, in whatever case, exists in the tenant.',
  'TAG_NAME_TAKEN',
);
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.');
export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.');
export const TooManyTranslations = defineError(
  'UNPROCESSABLE_ENTITY',
  'The translations together, with those that are there already, are more than 200 or larger than 32768 bytes as JSON.',
  'TOO_MANY_TRANSLATIONS',
);
