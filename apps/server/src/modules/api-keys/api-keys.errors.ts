import { defineError } from '#core/errors/app-error';

export const ApiKeyNotFound = defineError('NOT_FOUND', 'The API key does not exist.');
export const PreviousSecretNotFound = defineError(
  'NOT_FOUND',
  'The API key has no previous secret that is still valid.',
);
export const UnknownTemplate = defineError(
  'UNPROCESSABLE_ENTITY',
  'There is no permission template of this name.',
  'UNKNOWN_TEMPLATE',
);
export const ExpiresInThePast = defineError(
  'UNPROCESSABLE_ENTITY',
  'A new API key has to expire in the future.',
  'EXPIRES_IN_THE_PAST',
);
export const IpNotAllowed = defineError(
  'AUTHORIZATION_ERROR',
  'The API key may not be used from this address.',
  'IP_NOT_ALLOWED',
);
export const DeviceNotAllowed = defineError(
  'AUTHORIZATION_ERROR',
  'The API key may not be used from this device: send its fingerprint in X-Device-Fingerprint.',
  'DEVICE_NOT_ALLOWED',
);
