import { defineError } from '#core/errors/app-error';

/** One text for every reason, so that nobody learns which addresses have an account. */
export const LoginRefused = defineError(
  'AUTHENTICATION_ERROR',
  'The e-mail address, the password or the tenant is not right.',
);
export const EmailRefused = defineError('VALIDATION_ERROR', 'body.email: must match format "email".');
export const RefreshRefused = defineError('INVALID_TOKEN', 'The refresh token is not valid any more. Log in again.');
export const RefreshTokenMissing = defineError('VALIDATION_ERROR', 'body.refreshToken: is required.');
export const TooManyFailures = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many failed attempts. Wait as long as Retry-After says.',
  'TOO_MANY_FAILURES',
);
export const TooManyRegistrations = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many registrations from this address.',
  'TOO_MANY_REGISTRATIONS',
);
export const EmailTaken = defineError(
  'CONFLICT',
  'An account with this e-mail address exists. Log in instead.',
  'EMAIL_TAKEN',
);
export const DomainTaken = defineError('CONFLICT', 'A tenant with this domain exists.', 'DOMAIN_TAKEN');
export const OneTimeTokenRefused = defineError(
  'AUTHENTICATION_ERROR',
  'The link or token is not valid any more. Ask for a new one.',
);
export const WrongPassword = defineError(
  'UNPROCESSABLE_ENTITY',
  'The current password is not right.',
  'WRONG_PASSWORD',
);
export const SessionNotFound = defineError('NOT_FOUND', 'The session does not exist.');
export const TenantNotNamed = defineError('NOT_FOUND', 'The tenant named by X-Tenant-Id does not exist.');
export const ForeignTenantNamed = defineError(
  'AUTHORIZATION_ERROR',
  'Only a system administrator may name another tenant.',
);
