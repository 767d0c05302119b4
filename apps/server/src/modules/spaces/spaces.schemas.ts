import Type, { type Static } from 'typebox';

import {
  FreeObject,
  Language,
  PostalAddress,
  TimeZone,
  Timestamp,
  Uuid,
  closed,
  dataOf,
  freeObjectOfAtMost,
  jsonOfAtMost,
  nullable,
  pageOf,
  paging,
  sortable,
} from '#core/http/schemas';

const Status = Type.Enum(['active', 'maintenance', 'archived']);
/** What a name, a description, and all translations together may be long. */
export const textLimits = { name: 200, description: 5000, languages: 200, bytes: 32_768 };
export const Name = Type.String({ minLength: 1, maxLength: textLimits.name, pattern: '\\S' });
const Description = Type.String({ maxLength: textLimits.description });
const Geo = closed({
  lat: Type.Number({ minimum: -90, maximum: 90 }),
  lng: Type.Number({ minimum: -180, maximum: 180 }),
});
const Capacity = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const Translation = closed({ name: Type.Optional(nullable(Name)), description: Type.Optional(nullable(Description)) });
const ofLanguages = { additionalProperties: false, maxProperties: textLimits.languages };
const Translations = Type.Record(Language, Translation, ofLanguages);
export const maxJsonBytes = textLimits.bytes;

/** What is said of a space and of a resource alike, as it comes in. */
export const commonFields = {
  parent_id: Type.Optional(nullable(Uuid)),
  type_id: Type.Optional(nullable(Uuid)),
  description: Type.Optional(nullable(Description)),
  translations_i18n: Type.Optional(
    Type.Record(Language, Translation, { ...ofLanguages, ...jsonOfAtMost(maxJsonBytes) }),
  ),
  capacity: Type.Optional(nullable(Capacity)),
  address: Type.Optional(nullable(PostalAddress)),
  geo: Type.Optional(nullable(Geo)),
  timezone: Type.Optional(nullable(TimeZone)),
  status: Type.Optional(Status),
  properties: Type.Optional(freeObjectOfAtMost(maxJsonBytes)),
};

/** The same where it changes. */
export const commonChanges = {
  ...commonFields,
  translations_i18n: Type.Optional(
    Type.Record(Language, nullable(Translation), {
      ...ofLanguages,
      ...jsonOfAtMost(maxJsonBytes),
      description: 'By language: null removes one, and those that are not named stay.',
    }),
  ),
};

export const CreateSpaceBody = closed({ name: Name, ...commonFields });
export type CreateSpaceBody = Static<typeof CreateSpaceBody>;

export const UpdateSpaceBody = closed({ name: Type.Optional(Name), ...commonChanges });
export type UpdateSpaceBody = Static<typeof UpdateSpaceBody>;

/** The same as it goes out. */
export const commonRecord = {
  id: Uuid,
  tenant_id: Uuid,
  parent_id: nullable(Uuid),
  type_id: nullable(Uuid),
  name: Type.String(),
  description: nullable(Type.String()),
  translations_i18n: Translations,
  capacity: nullable(Type.Integer()),
  address: nullable(PostalAddress),
  geo: nullable(Geo),
  timezone: nullable(Type.String()),
  status: Status,
  properties: FreeObject,
  created_at: Timestamp,
  updated_at: Timestamp,
  created_by: nullable(Uuid),
  updated_by: nullable(Uuid),
};

const Space = closed(commonRecord, { title: 'Space' });

export const SpaceAnswer = dataOf(Space);
export const SpacePage = pageOf(Space);

/** A filter by what a record belongs to, which may be nothing. */
export function idOrNull(description: string) {
  const pattern = '^(null|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$';
  return Type.Optional(Type.String({ pattern, description }));
}

export const commonFilters = {
  parent_id: idOrNull('Children of one; `null` for the roots.'),
  type_id: idOrNull('Records of a type; `null` for those without one.'),
  tag_id: Type.Optional(Uuid),
  status: Type.Optional(Status),
};

export const ListSpacesQuery = Type.Object({
  ...paging,
  sort: sortable(['name', 'created_at', 'updated_at']),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In name and description.' })),
  ...commonFilters,
});
export type ListSpacesQuery = Static<typeof ListSpacesQuery>;
