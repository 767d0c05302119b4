import { defineError } from '#core/base/errors/app-error';

export const PreferenceNotFound = defineError('NOT_FOUND', 'The preference does not exist.');
export const PersonNotFound = defineError('NOT_FOUND', 'The user does not exist.');
export const UserNotAllowed = defineError(
  'VALIDATION_ERROR',
  'body.userId: not allowed with scope tenant_default. Omit it, or set the scope to user_override.',
  'USER_NOT_ALLOWED',
);
export const UserRequired = defineError(
  'VALIDATION_ERROR',
  'body.userId: required with scope user_override. Send it, or omit the scope to change your own preferences.',
  'USER_REQUIRED',
);
export const MembershipRequired = defineError(
  'UNPROCESSABLE_ENTITY',
  'You are not a user of this tenant and have no preferences in it. Send userId, or set the scope to tenant_default.',
  'MEMBERSHIP_REQUIRED',
);
export const InvalidPreference = defineError(
  'UNPROCESSABLE_ENTITY',
  'quietHours or rules is invalid; details.problem names the property and the reason. Correct it and resubmit.',
  'INVALID_PREFERENCE',
);
export const CategoryLocked = defineError(
  'UNPROCESSABLE_ENTITY',
  'The tenant has locked this category on this channel (see details). Users cannot override it.',
  'CATEGORY_LOCKED',
);
export const TooManyPreferences = defineError(
  'UNPROCESSABLE_ENTITY',
  'A tenant can have at most 500 defaults, and a user at most 500 preferences. Delete some, or use a wildcard such as news.*.',
  'TOO_MANY_PREFERENCES',
);
