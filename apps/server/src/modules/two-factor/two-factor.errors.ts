import { defineError } from '#core/base/errors/app-error';

/** One text for every reason: the code is wrong, used, expired, or belongs to another session. */
export const CodeRefused = defineError('AUTHENTICATION_ERROR', 'The code is wrong or no longer valid.');
export const FactorNotEnabled = defineError(
  'UNPROCESSABLE_ENTITY',
  'This second factor is not enabled. Enable it first.',
  'TWO_FACTOR_NOT_ENABLED',
);
export const FactorEnabled = defineError(
  'CONFLICT',
  'This second factor is already enabled. Disable it first.',
  'TWO_FACTOR_ENABLED',
);
export const FactorOfOtherTenant = defineError(
  'UNPROCESSABLE_ENTITY',
  'This second factor was set up in another tenant, and the installation has no connector that delivers its codes. Use another second factor.',
  'NO_DELIVERY_CHANNEL',
);
export const NoFactorEnabled = defineError(
  'CONFLICT',
  'Backup codes need an enabled second factor. Enable one first.',
  'TWO_FACTOR_MISSING',
);
export const LastFactorRequired = defineError(
  'CONFLICT',
  'The tenant requires a second factor and this is your last one. Enable another one first.',
  'LAST_TWO_FACTOR',
);
export const NoMailServer = defineError(
  'UNPROCESSABLE_ENTITY',
  'Codes cannot be sent by e-mail because no mail server is configured. Use another second factor.',
  'NO_DELIVERY_CHANNEL',
);
export const EmailTargetRefused = defineError(
  'VALIDATION_ERROR',
  'body.delivery_target: must be an e-mail address for this method.',
);
export const PhoneTargetRefused = defineError(
  'VALIDATION_ERROR',
  'body.delivery_target: must be a phone number with "+" and 6 to 15 digits for this method.',
);
export const PhoneTargetMissing = defineError(
  'VALIDATION_ERROR',
  'body.delivery_target: is required for this method, because the profile has no phone number.',
);
export const TooManyGuesses = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many wrong codes. Try again after the time in Retry-After.',
  'TOO_MANY_GUESSES',
);
export const TooManyCodes = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many codes were requested. Try again after the time in Retry-After.',
  'TOO_MANY_CODES',
);

export const MemberNotFound = defineError('NOT_FOUND', 'The user does not exist.');
export const MemberNotActive = defineError(
  'UNPROCESSABLE_ENTITY',
  'The user is not active. Only active users have second factors to reset.',
  'USER_NOT_ACTIVE',
);
export const SelfResetNotAllowed = defineError(
  'UNPROCESSABLE_ENTITY',
  'You cannot reset your own second factors. Disable them with a code.',
  'SELF_RESET_NOT_ALLOWED',
);
export const AccountInOtherTenants = defineError(
  'CONFLICT',
  'The account also belongs to other tenants. Ask a system administrator to reset its second factors.',
  'ACCOUNT_IN_OTHER_TENANTS',
);
