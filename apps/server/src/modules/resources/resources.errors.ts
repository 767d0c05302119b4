import { defineError } from '#core/errors/app-error';

export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.');
export const ParentNotFound = defineError('NOT_FOUND', 'The parent resource does not exist.', 'PARENT_NOT_FOUND');
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.', 'SPACE_NOT_FOUND');
export const ResourceCycle = defineError(
  'CONFLICT',
  'A resource cannot be part of itself or of one of its own parts.',
  'RESOURCE_CYCLE',
);
export const ResourceHasChildren = defineError(
  'CONFLICT',
  'The resource has parts: move or delete them first.',
  'RESOURCE_HAS_CHILDREN',
);
export const PropertyNotAllowed = defineError(
  'AUTHORIZATION_ERROR',
  'The credential may not write these properties.',
  'PROPERTY_NOT_ALLOWED',
);
export const TooManyProperties = defineError(
  'UNPROCESSABLE_ENTITY',
  'Together with what is there already the properties would be too large.',
  'TOO_MANY_PROPERTIES',
);
