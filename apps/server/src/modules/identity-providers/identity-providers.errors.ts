import { defineError } from '#core/errors/app-error';

export const ProviderNotConfigured = defineError('NOT_FOUND', 'The identity provider is not configured.');
export const SecretMissing = defineError(
  'UNPROCESSABLE_ENTITY',
  'Send the client_secret: there is none yet, or the one that is stored is for another issuer.',
  'CLIENT_SECRET_MISSING',
);
export const SettingsRefused = defineError(
  'UNPROCESSABLE_ENTITY',
  'The settings are not those that this provider needs.',
  'SETTINGS_REFUSED',
);
export const SigningKeyRefused = defineError(
  'UNPROCESSABLE_ENTITY',
  "Apple's client_secret is the private key that signs it: PKCS#8 in PEM, P-256.",
  'SIGNING_KEY_REFUSED',
);
export const ProviderNotAvailable = defineError(
  'UNPROCESSABLE_ENTITY',
  'This identity provider cannot be used here.',
  'PROVIDER_NOT_AVAILABLE',
);
export const RedirectRefused = defineError(
  'UNPROCESSABLE_ENTITY',
  'redirect_uri is not exactly one of those that are configured.',
  'REDIRECT_URI_REFUSED',
);
export const ProviderFailed = defineError(
  'UNPROCESSABLE_ENTITY',
  'The identity provider did not answer as expected. Try again.',
  'PROVIDER_FAILED',
);
export const TooManyLogins = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many logins were begun from this address.',
  'TOO_MANY_LOGINS',
);
/** One text for every reason: unknown, used, expired, or of another provider. */
export const FlowUnusable = defineError(
  'AUTHENTICATION_ERROR',
  'No login is waiting for this answer any more. Begin again.',
);
/** The same for the code that the application exchanges. */
export const CodeRefused = defineError(
  'AUTHENTICATION_ERROR',
  'The code is not valid, or the login is not permitted any more. Begin again.',
);
export const LinkRefused = defineError(
  'UNPROCESSABLE_ENTITY',
  'The code is not valid for linking an identity to this account. Begin again.',
  'LINK_CODE_REFUSED',
);
export const IdentityTaken = defineError('CONFLICT', 'This identity is linked to another account.', 'IDENTITY_TAKEN');
export const IdentityNotFound = defineError('NOT_FOUND', 'The identity does not exist.');
export const LastWayIn = defineError(
  'CONFLICT',
  'Without a password this is the last way into the account. Set a password first.',
  'LAST_WAY_IN',
);
export const IssuerNotAllowed = defineError(
  'UNPROCESSABLE_ENTITY',
  'issuer is an address that the service does not call: a private one, or a port that is not open to calls.',
  'ADDRESS_NOT_ALLOWED',
);
