import { defineError } from '#core/base/errors/app-error';

export const TypeDefinitionNotFound = defineError('NOT_FOUND', 'The type definition does not exist.');
export const TypeKeyTaken = defineError(
  'CONFLICT',
  'The tenant already has a type with this key for this kind of record. Choose another key.',
  'TYPE_KEY_TAKEN',
);
export const TypeInUse = defineError('CONFLICT', 'Records use this type. Change or delete them first.', 'TYPE_IN_USE');
export const InvalidJsonSchema = defineError(
  'UNPROCESSABLE_ENTITY',
  'The JSON Schema is invalid or uses an unsupported keyword. Correct the places in `details.errors`.',
  'INVALID_JSON_SCHEMA',
);

export const TypeNotFound = defineError('NOT_FOUND', 'The type does not exist. Check `type_id`.', 'TYPE_NOT_FOUND');
export const TypeEntityMismatch = defineError(
  'UNPROCESSABLE_ENTITY',
  'The type is for another kind of record. Choose a type with the right `entity_type`.',
  'TYPE_ENTITY_MISMATCH',
);
export const PropertiesInvalid = defineError(
  'UNPROCESSABLE_ENTITY',
  'The properties do not match the type of the record. Correct the places in `details.errors`.',
  'PROPERTIES_INVALID',
);
