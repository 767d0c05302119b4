import { defineError } from '#core/errors/app-error';

export const AppAccountNotFound = defineError('NOT_FOUND', 'The app account does not exist.');
export const AppAccountEmailTaken = defineError(
  'CONFLICT',
  'An app account with this e-mail address exists.',
  'EMAIL_TAKEN',
);
export const AppAccountRevoked = defineError(
  'CONFLICT',
  'The app account is revoked. Give it another status before it gets a password.',
  'APP_ACCOUNT_REVOKED',
);
export const ExpiresInThePast = defineError(
  'UNPROCESSABLE_ENTITY',
  'A new app account has to expire in the future.',
  'EXPIRES_IN_THE_PAST',
);
