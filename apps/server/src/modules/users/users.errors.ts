import { defineError } from '#core/errors/app-error';

export const UserNotFound = defineError('NOT_FOUND', 'The user does not exist.');
export const UserExists = defineError(
  'CONFLICT',
  'A user with this e-mail address exists in the tenant.',
  'USER_EXISTS',
);
export const LastAdministrator = defineError(
  'CONFLICT',
  'This is the last administrator of the tenant: make somebody else one first.',
  'LAST_ADMINISTRATOR',
);
export const RoleAboveOwn = defineError(
  'UNPROCESSABLE_ENTITY',
  'Nobody can make, change or remove somebody who may do more than they may themselves.',
  'ROLE_ABOVE_OWN',
);
export const NotJoinedYet = defineError(
  'UNPROCESSABLE_ENTITY',
  'The person has not accepted the invitation yet: nobody can activate or suspend them. Delete the user to withdraw it.',
  'NOT_JOINED_YET',
);
export const NotInvited = defineError('CONFLICT', 'The user has joined already.', 'NOT_INVITED');
export const LocaleNotOffered = defineError(
  'UNPROCESSABLE_ENTITY',
  'The locale has to be a language of the tenant, or one of en, de, fr, es, it.',
  'LOCALE_NOT_OFFERED',
);
export const GroupNotFound = defineError('NOT_FOUND', 'The group does not exist.', 'GROUP_NOT_FOUND');
export const BootstrapOnly = defineError(
  'UNPROCESSABLE_ENTITY',
  'System administrators are made by the operator: name one in SYSTEM_ADMIN_EMAIL and start the service.',
  'BOOTSTRAP_ONLY',
);
