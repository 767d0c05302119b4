import { defineError } from '#core/base/errors/app-error';

export const AuthenticationRequired = defineError(
  'AUTHENTICATION_ERROR',
  'Authentication is required. Send "Authorization: Bearer <accessToken>", or "X-API-Key" where API keys are accepted.',
);
export const InvalidToken = defineError('INVALID_TOKEN', 'The access token is not valid. Log in or refresh.');
export const TokenExpired = defineError('TOKEN_EXPIRED', 'The access token has expired. Refresh it.');
export const NotPermitted = defineError('AUTHORIZATION_ERROR', 'You are not permitted to do this.');
export const SecondFactorRequired = defineError(
  'AUTHORIZATION_ERROR',
  'Verify your second factor first: POST /api/v1/secure/auth/2fa/verify.',
  'TWO_FACTOR_REQUIRED',
);
export const SecondFactorEnrolmentRequired = defineError(
  'AUTHORIZATION_ERROR',
  'This tenant requires a second factor: set one up with POST /api/v1/secure/auth/2fa/enable/{method}.',
  'TWO_FACTOR_ENROLMENT_REQUIRED',
);
export const SessionOfOneTenant = defineError(
  'AUTHORIZATION_ERROR',
  'You logged in through a provider of this tenant, which cannot vouch for your account. Log in with your password.',
  'SESSION_OF_ONE_TENANT',
);
export const AssuranceLimitedToTenant = defineError(
  'AUTHORIZATION_ERROR',
  'A connector of this tenant delivered the code of this session, so the code does not count in your other tenants. Verify a code of an authenticator app, a backup code or a code by e-mail. If you have none of these, enable `email` with your own address.',
  'ASSURANCE_LIMITED_TO_TENANT',
);
export const ToolWritesDisabled = defineError(
  'AUTHORIZATION_ERROR',
  'This API key may not call tools that change data. Set its mcp_write_enabled, or use another credential.',
  'MCP_WRITE_DISABLED',
);
export const PermissionsAboveOwn = defineError(
  'UNPROCESSABLE_ENTITY',
  'Permissions that you do not hold cannot be granted or removed. Ask a user who holds them.',
  'PERMISSIONS_ABOVE_OWN',
);
export const InvalidApiKey = defineError('INVALID_TOKEN', 'The API key is not valid: unknown, disabled or expired.');
export const TwoCredentials = defineError('BAD_REQUEST', 'Send either Authorization or X-API-Key, not both.');
export const NotFound = defineError('NOT_FOUND', 'The requested record does not exist.');
export const ServiceUnavailable = defineError(
  'SERVICE_UNAVAILABLE',
  'The service cannot answer right now. Try again shortly.',
);
export const InternalError = defineError('INTERNAL_ERROR', 'Something went wrong on our side.');
