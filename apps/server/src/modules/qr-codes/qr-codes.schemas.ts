import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, nullable, pageOf, paging, sortable } from '#core/http/schemas';

const EntityType = Type.Enum(['space', 'resource']);
const Code = Type.String({ pattern: '^[A-Za-z0-9_-]{22}$' });
const Label = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });

export const CodeParams = closed({ code: Code });

export const CreateQrCodeBody = closed({ label: Type.Optional(nullable(Label)) });
export type CreateQrCodeBody = Static<typeof CreateQrCodeBody>;

export const AssignQrCodeBody = closed(
  { entity_type: nullable(EntityType), entity_id: nullable(Uuid) },
  { description: 'Both null to clear.' },
);
export type AssignQrCodeBody = Static<typeof AssignQrCodeBody>;

const QrCode = closed(
  {
    id: Uuid,
    tenant_id: Uuid,
    code: Code,
    entity_type: nullable(EntityType),
    entity_id: nullable(Uuid),
    label: nullable(Type.String()),
    created_by: nullable(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
    assigned_at: nullable(Timestamp),
  },
  { title: 'QrCode' },
);

export const QrCodeAnswer = dataOf(QrCode);
export const QrCodePage = pageOf(QrCode);

const ResolvedQrCode = closed(
  {
    id: Uuid,
    code: Code,
    label: nullable(Type.String()),
    entity_type: nullable(EntityType),
    entity_id: nullable(Uuid),
    entity_name: nullable(Type.String()),
  },
  { title: 'ResolvedQrCode' },
);

export const ResolvedQrCodeAnswer = dataOf(ResolvedQrCode);

export const ListQrCodesQuery = Type.Object({
  ...paging,
  sort: sortable(['created_at']),
  entity_type: Type.Optional(EntityType),
  entity_id: Type.Optional(Uuid),
  assigned: Type.Optional(Type.Boolean({ description: 'Only those on something, or only those that are free.' })),
});
export type ListQrCodesQuery = Static<typeof ListQrCodesQuery>;
