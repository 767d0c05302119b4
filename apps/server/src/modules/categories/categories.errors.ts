import { defineError } from '#core/base/errors/app-error';

export const CategoryNotFound = defineError('NOT_FOUND', 'The category does not exist.');
export const ParentNotFound = defineError(
  'NOT_FOUND',
  'The parent category does not exist. Check `parent_id`.',
  'PARENT_NOT_FOUND',
);
export const ReassignTargetNotFound = defineError(
  'NOT_FOUND',
  'The category that takes over does not exist. Check `reassign_to`.',
  'REASSIGN_TARGET_NOT_FOUND',
);
export const EntityNotFound = defineError(
  'NOT_FOUND',
  'The space, resource, tenant or group does not exist. Check `entity_type` and `entity_id`.',
  'ENTITY_NOT_FOUND',
);
export const CategoryLinkNotFound = defineError(
  'NOT_FOUND',
  'The category is not linked to this record.',
  'CATEGORY_LINK_NOT_FOUND',
);
export const EntityRequired = defineError(
  'VALIDATION_ERROR',
  'The record to unlink is missing. Send `entity_type` and `entity_id`, both in the body or both in the query.',
  'ENTITY_REQUIRED',
);
export const CategoryKeyTaken = defineError(
  'CONFLICT',
  'The tenant already has a category with this key. Choose another key.',
  'CATEGORY_KEY_TAKEN',
);
export const CategoryCycle = defineError(
  'CONFLICT',
  'A category cannot be its own ancestor. Choose a category outside of its subtree.',
  'CATEGORY_CYCLE',
);
export const CategoryHasChildren = defineError(
  'CONFLICT',
  'The category has children. Move them, or delete with `cascade=true` or `reassign_to`.',
  'CATEGORY_HAS_CHILDREN',
);
export const CategoryHasLinks = defineError(
  'CONFLICT',
  'The category has links. Unlink it, or delete with `cascade=true` or `reassign_to`.',
  'CATEGORY_HAS_LINKS',
);
export const CategoryTooDeep = defineError(
  'UNPROCESSABLE_ENTITY',
  'The tree of categories has at most 32 levels. Choose a parent that is higher in the tree.',
  'CATEGORY_TOO_DEEP',
);
export const CascadeReassignConflict = defineError(
  'UNPROCESSABLE_ENTITY',
  '`cascade` and `reassign_to` exclude each other. Send only one of them.',
  'CASCADE_REASSIGN_CONFLICT',
);
export const TranslationRequired = defineError(
  'UNPROCESSABLE_ENTITY',
  'A category needs a name in at least one language. Keep or add a translation.',
  'TRANSLATION_REQUIRED',
);
export const TooManyTranslations = defineError(
  'UNPROCESSABLE_ENTITY',
  'The stored and the new translations exceed 32768 bytes as JSON. Remove or shorten some of them.',
  'TOO_MANY_TRANSLATIONS',
);
