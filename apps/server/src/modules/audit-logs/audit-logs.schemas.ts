import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, nullable, pageOf, paging, sortable } from '#core/http/schemas';

const instant = { format: 'date-time', maxLength: 40 };

export const ListAuditLogsQuery = Type.Object({
  ...paging,
  sort: sortable(['created_at']),
  user_id: Type.Optional(Uuid),
  action: Type.Optional(
    Type.String({
      maxLength: 100,
      pattern: '^[a-z_]+(\\.[a-z_]+)*(\\.\\*)?$',
      description: 'Exact, or a prefix such as `auth.*`.',
    }),
  ),
  resource_type: Type.Optional(Type.String({ maxLength: 100 })),
  resource_id: Type.Optional(Uuid),
  ip_address: Type.Optional(Type.String({ maxLength: 64 })),
  from: Type.Optional(Type.String({ ...instant, description: 'This instant and later.' })),
  to: Type.Optional(Type.String({ ...instant, description: 'Before this instant.' })),
});
export type ListAuditLogsQuery = Static<typeof ListAuditLogsQuery>;

export const AuditLogPage = pageOf(
  closed(
    {
      id: Uuid,
      tenant_id: Uuid,
      user_id: nullable(Uuid),
      action: Type.String(),
      resource_type: Type.String(),
      resource_id: nullable(Uuid),
      details: nullable(Type.Record(Type.String(), Type.Unknown())),
      ip_address: nullable(Type.String()),
      user_agent: nullable(Type.String()),
      created_at: Timestamp,
    },
    { title: 'AuditLog' },
  ),
);
