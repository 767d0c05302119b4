import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/base/schemas';

const EntityType = Type.Enum(['space', 'resource']);
const Code = Type.String({
  pattern: '^[A-Za-z0-9_-]{22}$',
  description: 'Content of the QR code: 128 random bits as base64url.',
});
const entityTypeDescription = {
  description: 'Kind of the record that has the code; null if the code is not assigned.',
};
const entityIdDescription = {
  description: 'Record that has the code, by identifier; null if the code is not assigned.',
};
const label = { description: 'Label for people, which the image does not contain; null if unset.' };
const Label = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });

export const CodeParams = closed({ code: Code });

export const CreateQrCodeBody = closed({ label: Type.Optional(nullable(Label, label)) });
export type CreateQrCodeBody = Static<typeof CreateQrCodeBody>;

export const AssignQrCodeBody = closed(
  {
    entity_type: nullable(EntityType, { description: 'Kind of the record; null removes the assignment.' }),
    entity_id: nullable(Uuid, { description: 'Record, by identifier; null removes the assignment.' }),
  },
  { description: 'Record that gets the code; both null to remove the assignment.' },
);
export type AssignQrCodeBody = Static<typeof AssignQrCodeBody>;

const QrCode = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    code: Code,
    entity_type: nullable(EntityType, entityTypeDescription),
    entity_id: nullable(Uuid, entityIdDescription),
    label: nullable(Type.String(), label),
    created_by: nullable(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
    assigned_at: nullable(Timestamp, {
      description: 'Time of the latest assignment (RFC 3339, UTC); null if the code is not assigned.',
    }),
  },
  { title: 'QrCode' },
);

export const QrCodeAnswer = dataOf(QrCode);
export const QrCodePage = pageOf(QrCode);

const ResolvedQrCode = closed(
  {
    id: Uuid,
    code: Code,
    label: nullable(Type.String(), label),
    entity_type: nullable(EntityType, entityTypeDescription),
    entity_id: nullable(Uuid, entityIdDescription),
    entity_name: nullable(Type.String(), { description: 'Name of the record; null if the code is not assigned.' }),
  },
  { title: 'ResolvedQrCode' },
);

export const ResolvedQrCodeAnswer = dataOf(ResolvedQrCode);

export const ListQrCodesQuery = Type.Object({
  ...paging,
  sort: sortable(['created_at']),
  entity_type: Type.Optional(EntityType),
  entity_id: Type.Optional(Uuid),
  assigned: Type.Optional(
    Type.Boolean({
      description: 'Whether only assigned codes (`true`) or only unassigned codes (`false`) are listed.',
    }),
  ),
});
export type ListQrCodesQuery = Static<typeof ListQrCodesQuery>;
