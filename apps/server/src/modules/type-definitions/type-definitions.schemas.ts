import Type, { type Static } from 'typebox';

import {
  Timestamp,
  Uuid,
  closed,
  dataOf,
  freeObjectOfAtMost,
  nullable,
  pageOf,
  paging,
  sortable,
} from '#core/base/schemas';
import { schemaLimits } from '#modules/type-definitions/json-schemas.rules';

const EntityType = Type.Enum(['space', 'resource'], { description: 'Kind of records that can have the type.' });
const key = { description: 'Key by which programs find the type; unique for each kind of record in the tenant.' };
const Key = Type.String({ minLength: 1, maxLength: 100, pattern: '^[a-z0-9-]+$', ...key });
const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
const Description = Type.String({ maxLength: 5000 });
const JsonSchema = freeObjectOfAtMost(schemaLimits.bytes, {
  description: `JSON Schema of the properties, without "$ref" and "pattern"; at most ${schemaLimits.bytes} bytes as JSON.`,
});

export const CreateTypeDefinitionBody = closed({
  entity_type: EntityType,
  key: Key,
  name: Name,
  description: Type.Optional(nullable(Description)),
  json_schema: JsonSchema,
});
export type CreateTypeDefinitionBody = Static<typeof CreateTypeDefinitionBody>;

export const UpdateTypeDefinitionBody = closed({
  key: Type.Optional(Key),
  name: Type.Optional(Name),
  description: Type.Optional(nullable(Description)),
  json_schema: Type.Optional(JsonSchema),
});
export type UpdateTypeDefinitionBody = Static<typeof UpdateTypeDefinitionBody>;

const TypeDefinition = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    entity_type: EntityType,
    key: Type.String(key),
    name: Type.String(),
    description: nullable(Type.String()),
    json_schema: Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
      description: 'JSON Schema of the properties.',
    }),
    created_by: nullable(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'TypeDefinition' },
);

export const TypeDefinitionAnswer = dataOf(TypeDefinition);
export const TypeDefinitionPage = pageOf(TypeDefinition);

export const ListTypeDefinitionsQuery = Type.Object({
  ...paging,
  sort: sortable(['name', 'key', 'created_at']),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'Words that must all occur in the name, the key or the description.' }),
  ),
  entity_type: Type.Optional(EntityType),
  key: Type.Optional(Key),
});
export type ListTypeDefinitionsQuery = Static<typeof ListTypeDefinitionsQuery>;
