import { defineError } from '#core/base/errors/app-error';

/** One text for every reason, so that a caller cannot find out which addresses have an account. */
export const LoginRefused = defineError(
  'AUTHENTICATION_ERROR',
  'The e-mail address, the password or the tenant is wrong.',
);
export const EmailRefused = defineError('VALIDATION_ERROR', 'body.email: must match format "email".');
export const RefreshRefused = defineError('INVALID_TOKEN', 'The refresh token is no longer valid. Log in again.');
export const RefreshTokenMissing = defineError('VALIDATION_ERROR', 'body.refreshToken: is required.');
export const TooManyFailures = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many failed attempts. Try again after the time in Retry-After.',
  'TOO_MANY_FAILURES',
);
export const TooManyRegistrations = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many registrations from this address. Try again after the time in Retry-After.',
  'TOO_MANY_REGISTRATIONS',
);
export const EmailTaken = defineError(
  'CONFLICT',
  'An account with this e-mail address exists. Log in instead.',
  'EMAIL_TAKEN',
);
export const DomainTaken = defineError(
  'CONFLICT',
  'A tenant with this domain exists. Choose another domain.',
  'DOMAIN_TAKEN',
);
export const OneTimeTokenRefused = defineError(
  'AUTHENTICATION_ERROR',
  'The link or token is no longer valid. Request a new one.',
);
export const WrongPassword = defineError('UNPROCESSABLE_ENTITY', 'The current password is wrong.', 'WRONG_PASSWORD');
export const PasswordChanged = defineError(
  'CONFLICT',
  'Another request changed the password at the same time. Retry with the new password as the current one.',
  'PASSWORD_CHANGED',
);
export const PasswordRequired = defineError(
  'UNPROCESSABLE_ENTITY',
  'The account has no password. Send the token together with a new password.',
  'PASSWORD_REQUIRED',
);
export const PasswordAlreadySet = defineError(
  'UNPROCESSABLE_ENTITY',
  'The account already has a password, and an invitation does not change it. Send only the token.',
  'PASSWORD_ALREADY_SET',
);
export const InvitationNotFound = defineError('NOT_FOUND', 'The invitation does not exist.');
export const TooManyInvitations = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many invitations to this address or from this tenant. Try again after the time in Retry-After.',
  'TOO_MANY_INVITATIONS',
);
export const EmailVerified = defineError('CONFLICT', 'The e-mail address is already verified.', 'EMAIL_VERIFIED');
export const TooManyVerifications = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many mails to this address. Try again after the time in Retry-After.',
  'TOO_MANY_VERIFICATIONS',
);
export const TenantNotFound = defineError('NOT_FOUND', 'The tenant does not exist.');
export const SessionNotFound = defineError('NOT_FOUND', 'The session does not exist.');
export const TenantIdRefused = defineError('VALIDATION_ERROR', 'X-Tenant-Id: must match format "uuid".');
export const TenantNotNamed = defineError('NOT_FOUND', 'The tenant in X-Tenant-Id does not exist.');
export const ForeignTenantNamed = defineError(
  'AUTHORIZATION_ERROR',
  'Only a system administrator may select another tenant with X-Tenant-Id.',
);
