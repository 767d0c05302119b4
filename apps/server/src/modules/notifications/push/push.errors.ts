import { defineError } from '#core/errors/app-error';

export const SubscriptionNotFound = defineError('NOT_FOUND', 'The push subscription does not exist.');
export const EndpointNotAllowed = defineError(
  'UNPROCESSABLE_ENTITY',
  'endpoint is an address that the service does not call. Send what pushManager.subscribe() of the browser answers.',
  'ADDRESS_NOT_ALLOWED',
);
export const SubscriptionUnusable = defineError(
  'UNPROCESSABLE_ENTITY',
  'Nothing can be encrypted for these keys. Send what pushManager.subscribe() of the browser answers.',
  'INVALID_SUBSCRIPTION',
);
