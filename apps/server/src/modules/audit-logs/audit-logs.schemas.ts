import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, listOf, nullable, pageOf, paging, sortable } from '#core/http/schemas';

const instant = { format: 'date-time', maxLength: 40 };

const filters = {
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
};
const period = {
  from: Type.Optional(Type.String({ ...instant, description: 'This instant and later.' })),
  to: Type.Optional(Type.String({ ...instant, description: 'Before this instant.' })),
};

export const ListAuditLogsQuery = Type.Object({ ...paging, sort: sortable(['created_at']), ...filters, ...period });
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

export const ExportAuditLogsQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(['csv', 'ndjson'], { default: 'csv', description: 'With a head line, or one JSON object on each line.' }),
  ),
  ...filters,
  ...period,
});
export type ExportAuditLogsQuery = Static<typeof ExportAuditLogsQuery>;

export const VerifyAuditLogsQuery = Type.Object(period);
export type VerifyAuditLogsQuery = Static<typeof VerifyAuditLogsQuery>;

export const Verification = dataOf(
  closed(
    {
      valid: Type.Boolean({ description: 'There is no problem in what was checked.' }),
      isComplete: Type.Boolean({ description: 'False when it was given up after 100 problems.' }),
      checked: Type.Integer({ description: 'Rows whose hash was computed again.' }),
      from: nullable(Type.String()),
      to: nullable(Type.String()),
      chains: Type.Array(
        closed({
          slot: Type.Integer(),
          length: Type.Integer({ description: 'How many rows were ever written to the chain.' }),
          head: Type.String({ description: 'The hash of the last of them: SHA-256, hexadecimal.' }),
        }),
      ),
      problems: Type.Array(
        closed({
          type: Type.Enum(['changed', 'reordered', 'missing', 'inserted', 'head'], {
            description:
              'changed: the row, or the one before it, is not as it was written. reordered: it belongs to another place. missing: `count` rows from `position` on were deleted. inserted: the service never wrote it. head: the end of the chain does not fit its rows.',
          }),
          slot: nullable(Type.Integer()),
          position: nullable(Type.Integer()),
          count: Type.Integer(),
          id: nullable(Uuid),
        }),
      ),
    },
    { title: 'AuditVerification' },
  ),
);

export const Actions = listOf(
  closed({ action: Type.String(), resource_type: Type.String(), description: Type.String() }, { title: 'AuditAction' }),
);
