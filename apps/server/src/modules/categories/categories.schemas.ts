import Type, { type Static } from 'typebox';

import {
  Language,
  Timestamp,
  Uuid,
  closed,
  dataOf,
  jsonOfAtMost,
  listOf,
  nullable,
  sortable,
} from '#core/http/schemas';
import { maxLevel, textLimits } from '#modules/categories/categories.rules';

const Key = Type.String({ pattern: '^[a-z0-9-]+$', minLength: 1, maxLength: 100 });
const FilterId = Type.String({ minLength: 1, maxLength: 100 });
const Name = Type.String({ minLength: 1, maxLength: textLimits.name, pattern: '\\S' });
const Translation = closed({
  name: Name,
  description: Type.Optional(nullable(Type.String({ maxLength: textLimits.description }))),
});
const ofLanguages = {
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 200,
  ...jsonOfAtMost(textLimits.bytes),
};

const places = {
  parent_id: Type.Optional(nullable(Uuid)),
  filter_id: Type.Optional(nullable(FilterId)),
};

export const CreateCategoryBody = closed({
  key: Key,
  translations: Type.Record(Language, Translation, ofLanguages),
  ...places,
});
export type CreateCategoryBody = Static<typeof CreateCategoryBody>;

export const UpdateCategoryBody = closed({
  key: Type.Optional(Key),
  translations: Type.Optional(Type.Record(Language, nullable(Translation), ofLanguages)),
  ...places,
});
export type UpdateCategoryBody = Static<typeof UpdateCategoryBody>;

const Category = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    parent_id: nullable(Uuid),
    key: Type.String(),
    filter_id: nullable(Type.String()),
    level: Type.Integer(),
    name: Type.String(),
    description: nullable(Type.String()),
    language: nullable(Type.String({ description: 'That of the name.' })),
    usage_count: Type.Integer(),
    created_by: nullable(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Category' },
);

export const CategoryAnswer = dataOf(Category);
export const CategoryList = closed({ data: Type.Array(Category), total: Type.Integer() });
export const TranslationsAnswer = dataOf(
  Type.Record(Language, closed({ name: Type.String(), description: nullable(Type.String()) }), {
    additionalProperties: false,
  }),
);

const language = Type.Optional(
  Type.String({ pattern: '^[a-z]{2}$', description: 'For names and descriptions, instead of Accept-Language.' }),
);
const part = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'All, unless it is given.' })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
};

export const GetCategoryQuery = Type.Object({ language });

export const ListCategoriesQuery = Type.Object({
  ...part,
  sort: sortable(['level', 'key', 'created_at']),
  language,
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In the key, and in the names in all languages.' })),
  parent_id: Type.Optional(
    Type.String({
      pattern: '^(null|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$',
      description: 'Parts of one; `null` for the roots.',
    }),
  ),
  level: Type.Optional(Type.Integer({ minimum: 0, maximum: maxLevel })),
  key: Type.Optional(Key),
  filter_id: Type.Optional(FilterId),
});
export type ListCategoriesQuery = Static<typeof ListCategoriesQuery>;

export const DeleteCategoryQuery = Type.Object({
  cascade: Type.Optional(Type.Boolean({ description: 'With all below it, and all of their links.' })),
  reassign_to: Type.Optional(
    Type.String({ format: 'uuid', description: 'The category that its parts and links go to.' }),
  ),
});
export type DeleteCategoryQuery = Static<typeof DeleteCategoryQuery>;

const EntityType = Type.Enum(['space', 'resource', 'tenant', 'group']);
const entity = { entity_type: EntityType, entity_id: Uuid };

export const EntityBody = closed(entity);
export type EntityBody = Static<typeof EntityBody>;

/** For a DELETE: in the body, or for gateways that drop it in the query. */
export const OptionalEntityBody = nullable(EntityBody);
export const OptionalEntityQuery = Type.Object({
  entity_type: Type.Optional(EntityType),
  entity_id: Type.Optional(Uuid),
});

export const ListEntityCategoriesQuery = Type.Object({ ...entity, ...part, language });
export type ListEntityCategoriesQuery = Static<typeof ListEntityCategoriesQuery>;

export const ListCategoryLinksQuery = Type.Object(part);
export type ListCategoryLinksQuery = Static<typeof ListCategoryLinksQuery>;

const CategoryLink = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    category_id: Uuid,
    ...entity,
    created_by: nullable(Uuid),
    created_at: Timestamp,
  },
  { title: 'CategoryLink' },
);

export const CategoryLinkAnswer = dataOf(CategoryLink);
export const CategoryLinkList = listOf(CategoryLink);
