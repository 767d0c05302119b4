import { defineError } from '#core/base/errors/app-error';

export const ApiKeyNotFound = defineError('NOT_FOUND', 'The API key does not exist.');
export const PreviousSecretNotFound = defineError(
  'NOT_FOUND',
  'The API key has no previous secret that is still valid.',
);
export const UnknownTemplate = defineError(
  'UNPROCESSABLE_ENTITY',
  'The permission template does not exist. List the templates to see their names.',
  'UNKNOWN_TEMPLATE',
);
export const ExpiresInThePast = defineError(
  'UNPROCESSABLE_ENTITY',
  'expires_at of a new API key must be in the future.',
  'EXPIRES_IN_THE_PAST',
);
export const IpNotAllowed = defineError(
  'AUTHORIZATION_ERROR',
  'The API key may not be used from this address.',
  'IP_NOT_ALLOWED',
);
export const DeviceNotAllowed = defineError(
  'AUTHORIZATION_ERROR',
  'The API key may not be used from this device. Send the fingerprint of its device in X-Device-Fingerprint.',
  'DEVICE_NOT_ALLOWED',
);
