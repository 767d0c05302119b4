import { defineError } from '#core/errors/app-error';

export const TagNotFound = defineError('NOT_FOUND', 'The tag does not exist.');
export const TagNameTaken = defineError(
  'CONFLICT',
  'A tag with this name, in whatever case, exists in the tenant.',
  'TAG_NAME_TAKEN',
);
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.');
export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.');
