import { defineError } from '#core/base/errors/app-error';

export const ProviderNotConfigured = defineError('NOT_FOUND', 'The identity provider is not configured.');
export const SecretMissing = defineError(
  'UNPROCESSABLE_ENTITY',
  'No client_secret is stored for this issuer. Send one.',
  'CLIENT_SECRET_MISSING',
);
export const SettingsRefused = defineError(
  'UNPROCESSABLE_ENTITY',
  'The settings do not match the provider. See details for each problem.',
  'SETTINGS_REFUSED',
);
export const SigningKeyRefused = defineError(
  'UNPROCESSABLE_ENTITY',
  'The client_secret for Apple is not a valid signing key. Send the P-256 private key as PKCS#8 in PEM.',
  'SIGNING_KEY_REFUSED',
);
export const ProviderNotAvailable = defineError(
  'UNPROCESSABLE_ENTITY',
  'This identity provider is not enabled for the tenant.',
  'PROVIDER_NOT_AVAILABLE',
);
export const RedirectRefused = defineError(
  'UNPROCESSABLE_ENTITY',
  'redirect_uri does not exactly match a configured one.',
  'REDIRECT_URI_REFUSED',
);
export const ProviderFailed = defineError(
  'UNPROCESSABLE_ENTITY',
  'The identity provider did not answer as expected. Try again.',
  'PROVIDER_FAILED',
);
export const TooManyLogins = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many logins were started from this address. Try again after the time in Retry-After.',
  'TOO_MANY_LOGINS',
);
/** One text for every reason: the state is unknown, used, expired, or belongs to another provider. */
export const FlowUnusable = defineError(
  'AUTHENTICATION_ERROR',
  'The login does not exist or has expired. Start again.',
);
/** One text for every reason, as above, for the code that the application exchanges. */
export const CodeRefused = defineError(
  'AUTHENTICATION_ERROR',
  'The code is not valid, or the login is no longer permitted. Start again.',
);
export const LinkRefused = defineError(
  'UNPROCESSABLE_ENTITY',
  'The code is not valid for linking an identity to this account. Start again.',
  'LINK_CODE_REFUSED',
);
export const IdentityTaken = defineError('CONFLICT', 'This identity is linked to another account.', 'IDENTITY_TAKEN');
export const IdentityNotFound = defineError('NOT_FOUND', 'The identity does not exist.');
export const LastLoginMethod = defineError(
  'CONFLICT',
  'This is the last login method of the account, which has no password. Set a password first.',
  'LAST_LOGIN_METHOD',
);
export const IssuerNotAllowed = defineError(
  'UNPROCESSABLE_ENTITY',
  'The service may not call the issuer: its address is private, or its port is not allowed.',
  'ADDRESS_NOT_ALLOWED',
);
