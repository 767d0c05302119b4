import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/base/schemas';
import { entityTypes } from '#modules/storage/files.rules';

const EntityType = Type.Enum(entityTypes, { description: 'Kind of the record that the file is attached to.' });
const attachedType = 'Kind of the record that the file is attached to; null if it is attached to none.';
const attachedId = 'Record that the file is attached to, by identifier; null if it is attached to none.';
const FileName = Type.String({ minLength: 1, maxLength: 255, format: 'file-name', description: 'File name.' });
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

const StoredFile = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    name: Type.String({ description: 'File name.' }),
    content_type: Type.String(),
    size_bytes: Type.Integer(),
    sha256: Sha256,
    entity_type: nullable(EntityType, { description: attachedType }),
    entity_id: nullable(Uuid, { description: attachedId }),
    created_by: nullable(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'File' },
);

export const FileAnswer = dataOf(StoredFile);
export const FilePage = pageOf(StoredFile);

export const EntityFileParams = closed({ id: Uuid, fileId: Uuid });

const listing = {
  ...paging,
  sort: sortable(['name', 'created_at', 'size_bytes']),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Words in the name; every word must occur.' })),
};

export const ListEntityFilesQuery = Type.Object(listing);
export type ListEntityFilesQuery = Static<typeof ListEntityFilesQuery>;

export const ListFilesQuery = Type.Object({
  ...listing,
  entity_type: Type.Optional(EntityType),
  entity_id: Type.Optional(Uuid),
});
export type ListFilesQuery = Static<typeof ListFilesQuery>;

export const UploadEntityFileQuery = Type.Object({ name: FileName });

export const UploadFileQuery = Type.Object({
  name: FileName,
  entity_type: Type.Optional(EntityType),
  entity_id: Type.Optional(Uuid),
});
export type UploadFileQuery = Static<typeof UploadFileQuery>;

export const UpdateFileBody = closed(
  {
    name: Type.Optional(FileName),
    entity_type: Type.Optional(nullable(EntityType, { description: attachedType })),
    entity_id: Type.Optional(nullable(Uuid, { description: attachedId })),
  },
  { description: 'Give entity_type and entity_id together; null for both detaches the file from its record.' },
);
export type UpdateFileBody = Static<typeof UpdateFileBody>;

export const AvatarAnswer = dataOf(
  closed(
    { user_id: Uuid, content_type: Type.String(), size_bytes: Type.Integer(), sha256: Sha256, created_at: Timestamp },
    { title: 'Avatar' },
  ),
);
