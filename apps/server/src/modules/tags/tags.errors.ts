import { defineError } from '#core/base/errors/app-error';

export const TagNotFound = defineError('NOT_FOUND', 'The tag does not exist.');
export const TagNameTaken = defineError(
  'CONFLICT',
  'The tenant already has a tag with this name, compared without regard to case. Choose another name.',
  'TAG_NAME_TAKEN',
);
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.');
export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.');
export const TooManyTranslations = defineError(
  'UNPROCESSABLE_ENTITY',
  'The stored and the new translations exceed 200 languages or 32768 bytes as JSON. Remove or shorten some of them.',
  'TOO_MANY_TRANSLATIONS',
);
