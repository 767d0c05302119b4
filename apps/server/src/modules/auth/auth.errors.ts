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
export const PasswordRequired = defineError(
  'UNPROCESSABLE_ENTITY',
  'Joining sets the password of the account: send one.',
  'PASSWORD_REQUIRED',
);
export const PasswordNotTaken = defineError(
  'UNPROCESSABLE_ENTITY',
  'The account has a password, which an invitation does not change: send the token alone.',
  'PASSWORD_NOT_TAKEN',
);
export const InvitationNotFound = defineError('NOT_FOUND', 'The invitation does not exist.');
export const TooManyInvitations = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many invitations to this address or from this tenant. Wait as long as Retry-After says.',
  'TOO_MANY_INVITATIONS',
);
export const EmailVerified = defineError('CONFLICT', 'The address is proven already.', 'EMAIL_VERIFIED');
export const TooManyVerifications = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many mails to this address. Wait as long as Retry-After says.',
  'TOO_MANY_VERIFICATIONS',
);
export const TenantNotFound = defineError('NOT_FOUND', 'The tenant does not exist.');
export const SessionNotFound = defineError('NOT_FOUND', 'The session does not exist.');
export const TenantIdRefused = defineError('VALIDATION_ERROR', 'X-Tenant-Id: must match format "uuid".');
export const TenantNotNamed = defineError('NOT_FOUND', 'The tenant named by X-Tenant-Id does not exist.');
export const ForeignTenantNamed = defineError(
  'AUTHORIZATION_ERROR',
  'Only a system administrator may name another tenant.',
);
