import { defineError } from '#core/errors/app-error';

export const PreferenceNotFound = defineError('NOT_FOUND', 'The preference does not exist.');
export const PersonNotFound = defineError('NOT_FOUND', 'The user does not exist.');
export const DefaultsHaveNoUser = defineError(
  'UNPROCESSABLE_ENTITY',
  'What a tenant gets by default belongs to no user: leave out userId, or say scope user_override.',
  'DEFAULTS_HAVE_NO_USER',
);
export const NoOwnPreferences = defineError(
  'UNPROCESSABLE_ENTITY',
  'You are no user of this tenant: name one as userId, or say scope tenant_default.',
  'NO_OWN_PREFERENCES',
);
export const InvalidPreference = defineError(
  'UNPROCESSABLE_ENTITY',
  'Something in quietHours or rules that has a meaning has another form: details.problem says what.',
  'INVALID_PREFERENCE',
);
export const PreferenceListedTwice = defineError(
  'UNPROCESSABLE_ENTITY',
  'Two of the preferences are about the same category on the same channel, which details name: send one of them.',
  'LISTED_TWICE',
);
export const CategoryLocked = defineError(
  'UNPROCESSABLE_ENTITY',
  'The tenant has locked the category on the channel, which details name: nobody can decide otherwise.',
  'CATEGORY_LOCKED',
);
export const TooManyPreferences = defineError(
  'UNPROCESSABLE_ENTITY',
  'A tenant has at most 500 defaults, and a person 500 preferences: delete some, or use a wildcard such as news.*.',
  'TOO_MANY_PREFERENCES',
);
