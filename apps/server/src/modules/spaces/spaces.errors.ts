import { defineError } from '#core/base/errors/app-error';

export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.');
export const ParentNotFound = defineError(
  'NOT_FOUND',
  'The parent space does not exist. Check `parent_id`.',
  'PARENT_NOT_FOUND',
);
export const SpaceCycle = defineError(
  'CONFLICT',
  'A space cannot be its own ancestor. Choose a parent outside of its subtree.',
  'SPACE_CYCLE',
);
export const SpaceHasChildren = defineError(
  'CONFLICT',
  'The space contains other spaces. Move or delete them first.',
  'SPACE_HAS_CHILDREN',
);
export const SpaceHasResources = defineError(
  'CONFLICT',
  'The space contains resources. Move or delete them first.',
  'SPACE_HAS_RESOURCES',
);
export const TooManyTranslations = defineError(
  'UNPROCESSABLE_ENTITY',
  'The stored and the new translations exceed 200 languages or 32768 bytes as JSON. Remove or shorten some of them.',
  'TOO_MANY_TRANSLATIONS',
);
