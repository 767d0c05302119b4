import { defineError } from '#core/errors/app-error';

export const AuthenticationRequired = defineError(
  'AUTHENTICATION_ERROR',
  'Authentication is required: send "Authorization: Bearer <accessToken>".',
);
export const InvalidToken = defineError('INVALID_TOKEN', 'The access token is not valid. Log in or refresh.');
export const TokenExpired = defineError('TOKEN_EXPIRED', 'The access token has expired. Refresh it.');
export const NotPermitted = defineError('AUTHORIZATION_ERROR', 'You are not permitted to do this.');
export const NotFound = defineError('NOT_FOUND', 'The requested record does not exist.');
export const ServiceUnavailable = defineError(
  'SERVICE_UNAVAILABLE',
  'The service cannot answer right now. Try again shortly.',
);
export const InternalError = defineError('INTERNAL_ERROR', 'Something went wrong on our side.');
