import Type, { type Static } from 'typebox';

import {
  FreeObject,
  Timestamp,
  Uuid,
  closed,
  dataOf,
  freeObjectOfAtMost,
  nullable,
  pageOf,
  paging,
  sortable,
} from '#core/http/schemas';
import { schemaLimits } from '#modules/type-definitions/json-schemas.rules';

const EntityType = Type.Enum(['space', 'resource']);
const Key = Type.String({ minLength: 1, maxLength: 100, pattern: '^[a-z0-9-]+$' });
const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
const Description = Type.String({ maxLength: 5000 });
const JsonSchema = freeObjectOfAtMost(schemaLimits.bytes);

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
    key: Type.String(),
    name: Type.String(),
    description: nullable(Type.String()),
    json_schema: FreeObject,
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
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In name, key and description.' })),
  entity_type: Type.Optional(EntityType),
  key: Type.Optional(Key),
});
export type ListTypeDefinitionsQuery = Static<typeof ListTypeDefinitionsQuery>;
