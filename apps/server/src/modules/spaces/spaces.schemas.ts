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
  nullable,
  pageOf,
  paging,
  sortable,
} from '#core/http/schemas';

const Status = Type.Enum(['active', 'maintenance', 'archived']);
const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
const Description = Type.String({ maxLength: 5000 });
const Geo = closed({
  lat: Type.Number({ minimum: -90, maximum: 90 }),
  lng: Type.Number({ minimum: -180, maximum: 180 }),
});
const Capacity = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const Translations = Type.Record(
  Language,
  closed({ name: Type.Optional(nullable(Name)), description: Type.Optional(nullable(Description)) }),
  { additionalProperties: false, maxProperties: 200 },
);

const optionalFields = {
  parent_id: Type.Optional(nullable(Uuid)),
  description: Type.Optional(nullable(Description)),
  translations_i18n: Type.Optional(Translations),
  capacity: Type.Optional(nullable(Capacity)),
  address: Type.Optional(nullable(PostalAddress)),
  geo: Type.Optional(nullable(Geo)),
  timezone: Type.Optional(nullable(TimeZone)),
  status: Type.Optional(Status),
  properties: Type.Optional(FreeObject),
};

export const CreateSpaceBody = closed({ name: Name, ...optionalFields });
export type CreateSpaceBody = Static<typeof CreateSpaceBody>;

export const UpdateSpaceBody = closed({ name: Type.Optional(Name), ...optionalFields });
export type UpdateSpaceBody = Static<typeof UpdateSpaceBody>;

const Space = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    parent_id: nullable(Uuid),
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
  },
  { title: 'Space' },
);

export const SpaceAnswer = dataOf(Space);
export const SpacePage = pageOf(Space);

export const ListSpacesQuery = Type.Object({
  ...paging,
  sort: sortable(['name', 'created_at', 'updated_at']),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In name and description.' })),
  parent_id: Type.Optional(
    Type.String({
      pattern: '^(null|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$',
      description: 'Children of a space; `null` for the roots.',
    }),
  ),
  status: Type.Optional(Status),
});
export type ListSpacesQuery = Static<typeof ListSpacesQuery>;
