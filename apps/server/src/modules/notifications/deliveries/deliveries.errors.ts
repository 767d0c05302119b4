import { defineError } from '#core/base/errors/app-error';

export const NotificationNotFound = defineError(
  'NOT_FOUND',
  'The notification does not exist, or it belongs to another user.',
);
