import { defineError } from '#core/base/errors/app-error';

export const UserNotFound = defineError('NOT_FOUND', 'The user does not exist.');
export const UserExists = defineError(
  'CONFLICT',
  'A user with this e-mail address exists in the tenant.',
  'USER_EXISTS',
);
export const LastAdministrator = defineError(
  'CONFLICT',
  'This is the last administrator of the tenant. Make another user an administrator first.',
  'LAST_ADMINISTRATOR',
);
export const RoleAboveOwn = defineError(
  'UNPROCESSABLE_ENTITY',
  'You cannot create, change or remove a user who has more permissions than you.',
  'ROLE_ABOVE_OWN',
);
export const UserNotJoined = defineError(
  'UNPROCESSABLE_ENTITY',
  'The user has not accepted the invitation yet and cannot be activated or suspended. Delete the user to withdraw the invitation.',
  'USER_NOT_JOINED',
);
export const UserAlreadyJoined = defineError(
  'CONFLICT',
  'The user has already joined. There is no open invitation.',
  'USER_ALREADY_JOINED',
);
export const LocaleNotOffered = defineError(
  'UNPROCESSABLE_ENTITY',
  'The locale must be a language of the tenant, or one of en, de, fr, es, it.',
  'LOCALE_NOT_OFFERED',
);
export const GroupNotFound = defineError('NOT_FOUND', 'The group does not exist.', 'GROUP_NOT_FOUND');
export const BootstrapOnly = defineError(
  'UNPROCESSABLE_ENTITY',
  'Only the operator creates system administrators. Set SYSTEM_ADMIN_EMAIL and start the service.',
  'BOOTSTRAP_ONLY',
);
