import { defineError } from '#core/base/errors/app-error';

export const AppAccountNotFound = defineError('NOT_FOUND', 'The app account does not exist.');
export const AppAccountEmailTaken = defineError(
  'CONFLICT',
  'An app account with this e-mail address exists.',
  'EMAIL_TAKEN',
);
export const AppAccountRevoked = defineError(
  'CONFLICT',
  'The app account is revoked. Change its status before you set a password.',
  'APP_ACCOUNT_REVOKED',
);
export const ExpiresInThePast = defineError(
  'UNPROCESSABLE_ENTITY',
  'expires_at of a new app account must be in the future.',
  'EXPIRES_IN_THE_PAST',
);
export const TooManyPasswords = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many passwords were set within ten minutes. Try again after the time in Retry-After.',
  'TOO_MANY_PASSWORDS',
);
