import { defineError } from '#core/base/errors/app-error';

export const GroupNotFound = defineError('NOT_FOUND', 'The group does not exist.');
export const GroupNameTaken = defineError(
  'CONFLICT',
  'The tenant already has a group with this name. Choose another name.',
  'GROUP_NAME_TAKEN',
);
export const MemberNotFound = defineError('NOT_FOUND', 'The user does not exist. Check `userId`.', 'USER_NOT_FOUND');
export const NotAMember = defineError('NOT_FOUND', 'The user is not a member of the group.');
