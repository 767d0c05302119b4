import { defineModule } from '#core/http/route';
import { TypeKeyTaken } from '#modules/type-definitions/type-definitions.errors';
import { typeDefinitionRoutes } from '#modules/type-definitions/type-definitions.routes';

export { PropertiesInvalid, TypeEntityMismatch, TypeNotFound } from '#modules/type-definitions/type-definitions.errors';

export { shareTypeDefinition } from '#modules/type-definitions/type-definitions.queries';

export { assertPropertiesFit } from '#modules/type-definitions/typed-properties';

/** Types of spaces and resources; a type defines the properties of its records. */
export const typeDefinitionsModule = defineModule({
  name: 'type-definitions',
  description: 'Manage types of spaces and resources, which define the properties of records',
  constraints: { type_definitions_key_key: TypeKeyTaken },
  routes: typeDefinitionRoutes,
});
