import { defineError } from '#core/errors/app-error';

export const TypeDefinitionNotFound = defineError('NOT_FOUND', 'The type definition does not exist.');
export const TypeKeyTaken = defineError(
  'CONFLICT',
  'A type of this kind of record has this key in the tenant.',
  'TYPE_KEY_TAKEN',
);
export const TypeInUse = defineError(
  'CONFLICT',
  'There are records of this type: change or delete them first.',
  'TYPE_IN_USE',
);
export const InvalidJsonSchema = defineError(
  'UNPROCESSABLE_ENTITY',
  'The JSON Schema is not valid, or uses more of JSON Schema than is taken.',
  'INVALID_JSON_SCHEMA',
);

export const TypeNotFound = defineError('NOT_FOUND', 'The type does not exist.', 'TYPE_NOT_FOUND');
export const TypeOfOtherEntity = defineError(
  'UNPROCESSABLE_ENTITY',
  'The type is one for another kind of record.',
  'TYPE_OF_OTHER_ENTITY',
);
export const PropertiesDoNotFit = defineError(
  'UNPROCESSABLE_ENTITY',
  'The properties do not fit the type of the record.',
  'PROPERTIES_DO_NOT_FIT',
);
