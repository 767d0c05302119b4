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
} from '#core/base/schemas';
import { maxLevel, maxListed, textLimits } from '#modules/categories/categories.rules';

const keyDescription = { description: 'Key by which programs find the category; unique within the tenant.' };
const Key = Type.String({ pattern: '^[a-z0-9-]+$', minLength: 1, maxLength: 100, ...keyDescription });
const filterId = { description: 'Filter of the client that the category belongs to; null if unset.' };
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
  description: `Translated names and descriptions by language; at most ${textLimits.bytes} bytes as JSON.`,
};

const position = {
  parent_id: Type.Optional(nullable(Uuid)),
  filter_id: Type.Optional(nullable(FilterId, filterId)),
};

export const CreateCategoryBody = closed({
  key: Key,
  translations: Type.Record(Language, Translation, ofLanguages),
  ...position,
});
export type CreateCategoryBody = Static<typeof CreateCategoryBody>;

export const UpdateCategoryBody = closed({
  key: Type.Optional(Key),
  translations: Type.Optional(
    Type.Record(Language, nullable(Translation), {
      ...ofLanguages,
      description: 'Translations by language; null removes a language, and the other languages stay unchanged.',
    }),
  ),
  ...position,
});
export type UpdateCategoryBody = Static<typeof UpdateCategoryBody>;

const Category = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    parent_id: nullable(Uuid),
    key: Type.String(keyDescription),
    filter_id: nullable(Type.String(), filterId),
    level: Type.Integer({ description: 'Depth in the tree; 0 for a root.' }),
    name: Type.String({ description: 'Name in the first preferred language that has one.' }),
    description: nullable(Type.String(), {
      description: 'Description in the first preferred language that has one; null if no language has one.',
    }),
    language: nullable(Type.String(), { description: 'Language of the name (ISO 639-1).' }),
    usage_count: Type.Integer({ description: 'Number of links to the category itself.' }),
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
  Type.String({
    pattern: '^[a-z]{2}$',
    description: 'Language of names and descriptions (ISO 639-1), instead of `Accept-Language`.',
  }),
);
const part = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 200,
      description: `Maximum number of records; without it, up to ${maxListed}.`,
    }),
  ),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
};

export const GetCategoryQuery = Type.Object({ language });

export const ListCategoriesQuery = Type.Object({
  ...part,
  sort: sortable(['level', 'key', 'created_at']),
  language,
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Words that must all occur in the key or in the names of any language.',
    }),
  ),
  parent_id: Type.Optional(
    Type.String({
      pattern: '^(null|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$',
      description: 'Parent whose children are listed; `null` lists the roots.',
    }),
  ),
  level: Type.Optional(
    Type.Integer({ minimum: 0, maximum: maxLevel, description: 'Depth in the tree; 0 for the roots.' }),
  ),
  key: Type.Optional(Key),
  filter_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'Filter of the client that the categories belong to.' }),
  ),
});
export type ListCategoriesQuery = Static<typeof ListCategoriesQuery>;

export const DeleteCategoryQuery = Type.Object({
  cascade: Type.Optional(Type.Boolean({ description: 'Whether all descendants, and all links, are deleted too.' })),
  reassign_to: Type.Optional(
    Type.String({ format: 'uuid', description: 'Category that takes over the children and the links.' }),
  ),
});
export type DeleteCategoryQuery = Static<typeof DeleteCategoryQuery>;

const EntityType = Type.Enum(['space', 'resource', 'tenant', 'group']);
const entity = { entity_type: EntityType, entity_id: Uuid };

export const EntityBody = closed(entity);
export type EntityBody = Static<typeof EntityBody>;

/** For DELETE: in the body, or in the query for gateways that drop the body. */
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
