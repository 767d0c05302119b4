import { defineError } from '#core/base/errors/app-error';

export const OperationNotNamed = defineError(
  'VALIDATION_ERROR',
  'body: must have either operation, or method and path.',
);
export const OperationNotFound = defineError(
  'NOT_FOUND',
  'The operation does not exist. See GET /openapi.json for all operations.',
  'OPERATION_NOT_FOUND',
);
export const PrincipalNotFound = defineError(
  'NOT_FOUND',
  'The user, group, API key or app account does not exist.',
  'PRINCIPAL_NOT_FOUND',
);
