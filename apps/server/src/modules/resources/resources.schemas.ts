import Type, { type Static } from 'typebox';

import { Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/http/schemas';
import { Name, commonChanges, commonFields, commonFilters, commonRecord, idOrNull } from '#modules/spaces/index';

const Serial = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });

const ownFields = {
  space_id: Type.Optional(nullable(Uuid)),
  serial: Type.Optional(nullable(Serial)),
};

export const CreateResourceBody = closed({ name: Name, ...commonFields, ...ownFields });
export type CreateResourceBody = Static<typeof CreateResourceBody>;

export const UpdateResourceBody = closed({ name: Type.Optional(Name), ...commonChanges, ...ownFields });
export type UpdateResourceBody = Static<typeof UpdateResourceBody>;

const Resource = closed(
  { ...commonRecord, space_id: nullable(Uuid), serial: nullable(Type.String()) },
  { title: 'Resource' },
);

export const ResourceAnswer = dataOf(Resource);
export const ResourcePage = pageOf(Resource);

export const ListResourcesQuery = Type.Object({
  ...paging,
  sort: sortable(['name', 'created_at', 'updated_at']),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In name, description and serial.' })),
  ...commonFilters,
  space_id: idOrNull('Resources in a space; `null` for those in none.'),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'The whole name, in any case.' })),
  serial: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'The whole serial, as it is.' })),
});
export type ListResourcesQuery = Static<typeof ListResourcesQuery>;
