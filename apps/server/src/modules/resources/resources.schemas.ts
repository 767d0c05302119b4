import Type, { type Static } from 'typebox';

import { Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/base/schemas';
import { Name, commonChanges, commonFields, commonFilters, commonRecord, idOrNull } from '#modules/spaces/index';

const Serial = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
const serial = { description: 'Serial number; null if unset.' };
const space = { description: 'Space that contains the resource, by identifier; null if unset.' };

const ownFields = {
  space_id: Type.Optional(nullable(Uuid, space)),
  serial: Type.Optional(nullable(Serial, serial)),
};

export const CreateResourceBody = closed({ name: Name, ...commonFields, ...ownFields });
export type CreateResourceBody = Static<typeof CreateResourceBody>;

export const UpdateResourceBody = closed({ name: Type.Optional(Name), ...commonChanges, ...ownFields });
export type UpdateResourceBody = Static<typeof UpdateResourceBody>;

const Resource = closed(
  { ...commonRecord, space_id: nullable(Uuid, space), serial: nullable(Type.String(), serial) },
  { title: 'Resource' },
);

export const ResourceAnswer = dataOf(Resource);
export const ResourcePage = pageOf(Resource);

export const ListResourcesQuery = Type.Object({
  ...paging,
  sort: sortable(['name', 'created_at', 'updated_at']),
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Words that must all occur in the name, the description or the serial number.',
    }),
  ),
  ...commonFilters,
  space_id: idOrNull('Space that contains the resources; `null` lists the resources without a space.'),
  name: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Complete name, compared without regard to case.' }),
  ),
  serial: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Complete serial number, compared exactly.' }),
  ),
});
export type ListResourcesQuery = Static<typeof ListResourcesQuery>;
