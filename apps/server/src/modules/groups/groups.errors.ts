import { defineError } from '#core/errors/app-error';

export const GroupNotFound = defineError('NOT_FOUND', 'The group does not exist.');
export const GroupNameTaken = defineError(
  'CONFLICT',
  'A group with this name exists in the tenant.',
  'GROUP_NAME_TAKEN',
);
export const MemberNotFound = defineError('NOT_FOUND', 'The user does not exist.', 'USER_NOT_FOUND');
export const NotAMember = defineError('NOT_FOUND', 'The user is not a member of the group.');
