import { defineError } from '#core/base/errors/app-error';

export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.');
export const ParentNotFound = defineError(
  'NOT_FOUND',
  'The parent resource does not exist. Check `parent_id`.',
  'PARENT_NOT_FOUND',
);
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist. Check `space_id`.', 'SPACE_NOT_FOUND');
export const ResourceCycle = defineError(
  'CONFLICT',
  'A resource cannot be its own ancestor. Choose a parent that is not one of its parts.',
  'RESOURCE_CYCLE',
);
export const ResourceHasChildren = defineError(
  'CONFLICT',
  'The resource has parts. Move or delete them first.',
  'RESOURCE_HAS_CHILDREN',
);
export const PropertyNotAllowed = defineError(
  'AUTHORIZATION_ERROR',
  'The credential must not write the properties that `details.properties` lists. Leave them out.',
  'PROPERTY_NOT_ALLOWED',
);
export const PropertiesTooLarge = defineError(
  'UNPROCESSABLE_ENTITY',
  'The stored and the new properties exceed 32768 bytes as JSON. Shorten them.',
  'PROPERTIES_TOO_LARGE',
);
