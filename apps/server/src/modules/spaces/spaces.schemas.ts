import Type, { type Static } from 'typebox';

import {
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
} from '#core/base/schemas';

const Status = Type.Enum(['active', 'maintenance', 'archived'], {
  description: 'Status; an archived record cannot be booked.',
});
/** Maximum characters of a name and of a description; maximum languages and JSON bytes of all translations. */
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

/** Fields that spaces and resources share, in the body of a create request. */
export const commonFields = {
  parent_id: Type.Optional(nullable(Uuid)),
  type_id: Type.Optional(nullable(Uuid)),
  description: Type.Optional(nullable(Description)),
  translations_i18n: Type.Optional(
    Type.Record(Language, Translation, {
      ...ofLanguages,
      ...jsonOfAtMost(maxJsonBytes),
      description: `Translated texts by language; at most ${maxJsonBytes} bytes as JSON.`,
    }),
  ),
  capacity: Type.Optional(nullable(Capacity)),
  address: Type.Optional(nullable(PostalAddress)),
  geo: Type.Optional(nullable(Geo)),
  timezone: Type.Optional(nullable(TimeZone)),
  status: Type.Optional(Status),
  properties: Type.Optional(
    freeObjectOfAtMost(maxJsonBytes, {
      description: `Properties, which must match the type of the record; at most ${maxJsonBytes} bytes as JSON.`,
    }),
  ),
};

/** The same fields in the body of an update request. */
export const commonChanges = {
  ...commonFields,
  translations_i18n: Type.Optional(
    Type.Record(Language, nullable(Translation), {
      ...ofLanguages,
      ...jsonOfAtMost(maxJsonBytes),
      description: 'Translated texts by language; null removes a language, and the other languages stay unchanged.',
    }),
  ),
};

export const CreateSpaceBody = closed({ name: Name, ...commonFields });
export type CreateSpaceBody = Static<typeof CreateSpaceBody>;

export const UpdateSpaceBody = closed({ name: Type.Optional(Name), ...commonChanges });
export type UpdateSpaceBody = Static<typeof UpdateSpaceBody>;

/** The same fields in a response. */
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
  properties: Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
    description: 'Properties; their names and values follow the type of the record.',
  }),
  created_at: Timestamp,
  updated_at: Timestamp,
  created_by: nullable(Uuid),
  updated_by: nullable(Uuid),
};

const Space = closed(commonRecord, { title: 'Space' });

export const SpaceAnswer = dataOf(Space);
export const SpacePage = pageOf(Space);

/** A filter by a reference; the text `null` selects the records without one. */
export function idOrNull(description: string) {
  const pattern = '^(null|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$';
  return Type.Optional(Type.String({ pattern, description }));
}

export const commonFilters = {
  parent_id: idOrNull('Parent whose children are listed; `null` lists the records without a parent.'),
  type_id: idOrNull('Type of the listed records; `null` lists the records without a type.'),
  tag_id: Type.Optional(Uuid),
  status: Type.Optional(Status),
};

export const ListSpacesQuery = Type.Object({
  ...paging,
  sort: sortable(['name', 'created_at', 'updated_at']),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'Words that must all occur in the name or the description.' }),
  ),
  ...commonFilters,
});
export type ListSpacesQuery = Static<typeof ListSpacesQuery>;
