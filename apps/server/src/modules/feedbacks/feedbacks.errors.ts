import { defineError } from '#core/errors/app-error';

export const FeedbackNotFound = defineError('NOT_FOUND', 'The feedback does not exist.');
export const SpaceNotFound = defineError('NOT_FOUND', 'The space does not exist.', 'ENTITY_NOT_FOUND');
export const ResourceNotFound = defineError('NOT_FOUND', 'The resource does not exist.', 'ENTITY_NOT_FOUND');
