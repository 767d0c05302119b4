import { defineError } from '#core/errors/app-error';

export const CategoryNotFound = defineError('NOT_FOUND', 'The category does not exist.');
export const ParentNotFound = defineError('NOT_FOUND', 'The parent category does not exist.', 'PARENT_NOT_FOUND');
export const ReassignTargetNotFound = defineError(
  'NOT_FOUND',
  'The category that is to take over does not exist.',
  'REASSIGN_TARGET_NOT_FOUND',
);
export const EntityNotFound = defineError(
  'NOT_FOUND',
  'The space, resource, tenant or group does not exist.',
  'ENTITY_NOT_FOUND',
);
export const CategoryLinkNotFound = defineError(
  'NOT_FOUND',
  'The category is not linked to this.',
  'CATEGORY_LINK_NOT_FOUND',
);
export const EntityNotNamed = defineError(
  'VALIDATION_ERROR',
  'Name what to unlink: entity_type and entity_id, both in the body or both in the query.',
  'ENTITY_NOT_NAMED',
);
export const CategoryKeyTaken = defineError(
  'CONFLICT',
  'A category with this key exists in the tenant.',
  'CATEGORY_KEY_TAKEN',
);
export const CategoryCycle = defineError(
  'CONFLICT',
  'A category cannot lie within itself or within one of its own parts.',
  'CATEGORY_CYCLE',
);
export const CategoryHasChildren = defineError(
  'CONFLICT',
  'The category has parts: move them, or delete with cascade=true or reassign_to.',
  'CATEGORY_HAS_CHILDREN',
);
export const CategoryHasLinks = defineError(
  'CONFLICT',
  'The category is in use: unlink it, or delete with cascade=true or reassign_to.',
  'CATEGORY_HAS_LINKS',
);
export const CategoryTooDeep = defineError(
  'UNPROCESSABLE_ENTITY',
  'Categories lie at most 32 levels deep.',
  'CATEGORY_TOO_DEEP',
);
export const CascadeOrReassign = defineError(
  'UNPROCESSABLE_ENTITY',
  'Either cascade or reassign_to: what is deleted cannot be handed over.',
  'CASCADE_OR_REASSIGN',
);
export const LastTranslation = defineError(
  'UNPROCESSABLE_ENTITY',
  'A category needs a name in at least one language.',
  'LAST_TRANSLATION',
);
export const TooManyTranslations = defineError(
  'UNPROCESSABLE_ENTITY',
  'The translations together, with those that are there already, are larger than 32768 bytes as JSON.',
  'TOO_MANY_TRANSLATIONS',
);
