import { defineError } from '#core/errors/app-error';

export const OperationNotNamed = defineError(
  'VALIDATION_ERROR',
  'body: name either the operation, or the method and the path.',
);
export const OperationNotFound = defineError(
  'NOT_FOUND',
  'There is no such operation. Those that exist are in GET /openapi.json.',
  'OPERATION_NOT_FOUND',
);
export const PrincipalNotFound = defineError(
  'NOT_FOUND',
  'The user, group, API key or app account does not exist.',
  'PRINCIPAL_NOT_FOUND',
);
