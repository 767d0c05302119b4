import { defineError } from '#core/base/errors/app-error';

export const SubscriptionNotFound = defineError('NOT_FOUND', 'The push subscription does not exist.');
export const EndpointNotAllowed = defineError(
  'UNPROCESSABLE_ENTITY',
  'The service does not call the address in endpoint. Send the result of pushManager.subscribe() in the browser.',
  'ADDRESS_NOT_ALLOWED',
);
export const SubscriptionUnusable = defineError(
  'UNPROCESSABLE_ENTITY',
  'The keys are invalid for encryption. Send the result of pushManager.subscribe() in the browser.',
  'INVALID_SUBSCRIPTION',
);
