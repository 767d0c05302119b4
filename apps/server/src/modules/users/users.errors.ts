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
  'Only a tenant administrator may make or change an administrator.',
  'ROLE_ABOVE_OWN',
);
export const NotJoinedYet = defineError(
  'UNPROCESSABLE_ENTITY',
  'The person has not accepted the invitation yet: nobody else can make them active.',
  'NOT_JOINED_YET',
);
