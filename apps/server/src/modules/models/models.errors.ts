import { defineError } from '#core/base/errors/app-error';

export const ModelNotFound = defineError(
  'NOT_FOUND',
  'The model is not in the catalog. List the models and use one of their identifiers.',
);
