import { defineError } from '#core/base/errors/app-error';

export const AddressBlocked = defineError(
  'AUTHORIZATION_ERROR',
  'Requests from your address are blocked.',
  'ADDRESS_BLOCKED',
);
export const TooManyRequests = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many requests from your address. Retry after the time in Retry-After.',
);
