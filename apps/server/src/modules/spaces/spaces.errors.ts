import { defineError } from '#core/errors/app-error';

export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.');
export const ParentNotFound = defineError('NOT_FOUND', 'The parent space does not exist.', 'PARENT_NOT_FOUND');
export const SpaceCycle = defineError(
  'CONFLICT',
  'A space cannot lie within itself or within one of its own parts.',
  'SPACE_CYCLE',
);
export const SpaceHasChildren = defineError(
  'CONFLICT',
  'The space has parts: move or delete them first.',
  'SPACE_HAS_CHILDREN',
);
export const SpaceHasResources = defineError(
  'CONFLICT',
  'There are resources in the space: move or delete them first.',
  'SPACE_HAS_RESOURCES',
);
export const TooManyTranslations = defineError(
  'UNPROCESSABLE_ENTITY',
  'The translations together, with those that are there already, are more than 200 or larger than 32768 bytes as JSON.',
  'TOO_MANY_TRANSLATIONS',
);
