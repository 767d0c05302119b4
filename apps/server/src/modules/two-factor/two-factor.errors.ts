import { defineError } from '#core/errors/app-error';

/** One text for every reason: wrong, used, expired, or another session's. */
export const CodeRefused = defineError('AUTHENTICATION_ERROR', 'The code is not right, or not valid any more.');
export const FactorNotEnabled = defineError(
  'UNPROCESSABLE_ENTITY',
  'This second factor is not enabled.',
  'TWO_FACTOR_NOT_ENABLED',
);
export const FactorEnabled = defineError(
  'CONFLICT',
  'This second factor is enabled already: disable it first.',
  'TWO_FACTOR_ENABLED',
);
export const NoFactorEnabled = defineError(
  'CONFLICT',
  'Backup codes stand in for a second factor: enable one first.',
  'NO_TWO_FACTOR',
);
export const LastFactorRequired = defineError(
  'CONFLICT',
  'The tenant requires a second factor and this is your last one: enable another first.',
  'LAST_TWO_FACTOR',
);
export const NoMailServer = defineError(
  'UNPROCESSABLE_ENTITY',
  'Codes cannot be sent by e-mail: no mail server is configured.',
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
  'body.delivery_target: is needed for this method, because the profile has no phone.',
);
export const TooManyGuesses = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many wrong codes. Wait as long as Retry-After says.',
  'TOO_MANY_GUESSES',
);
export const TooManyCodes = defineError(
  'RATE_LIMIT_EXCEEDED',
  'Too many codes were requested. Wait as long as Retry-After says.',
  'TOO_MANY_CODES',
);

export const MemberNotFound = defineError('NOT_FOUND', 'The user does not exist.');
export const MemberNotActive = defineError(
  'UNPROCESSABLE_ENTITY',
  'The user is not active: only active users have second factors to reset.',
  'USER_NOT_ACTIVE',
);
export const OwnFactors = defineError(
  'UNPROCESSABLE_ENTITY',
  'Nobody resets the own second factors: disable them with a code.',
  'OWN_TWO_FACTOR',
);
export const AccountOfOtherTenants = defineError(
  'CONFLICT',
  'The account belongs to other tenants too: only a system administrator may reset its second factors.',
  'ACCOUNT_OF_OTHER_TENANTS',
);
