import { defineError } from '#core/base/errors/app-error';

export const AddressBlocked = defineError(
  'AUTHORIZATION_ERROR',
  'Requests from your address are not taken.',
  'ADDRESS_BLOCKED',
);
export const TooManyRequests = defineError('RATE_LIMIT_EXCEEDED', 'There were too many requests from your address.');
