import { defineError } from '#core/base/errors/app-error';

export const ContactNotFound = defineError('NOT_FOUND', 'The contact does not exist.');
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.');
export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.');
export const UserNotFound = defineError('NOT_FOUND', 'The user does not exist.');
export const ContactLinkNotFound = defineError('NOT_FOUND', 'The contact is not linked to the record.');
