import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, listOf, nullable, pageOf, paging, sortable } from '#core/base/schemas';

const instant = { format: 'date-time', maxLength: 40 };

const filters = {
  user_id: Type.Optional(Type.String({ format: 'uuid', description: 'Actor, by user identifier.' })),
  action: Type.Optional(
    Type.String({
      maxLength: 100,
      pattern: '^[a-z_]+(\\.[a-z_]+)*(\\.\\*)?$',
      description: 'Action: an exact name, or a prefix such as `auth.*`.',
    }),
  ),
  resource_type: Type.Optional(Type.String({ maxLength: 100 })),
  resource_id: Type.Optional(Uuid),
  ip_address: Type.Optional(Type.String({ maxLength: 64 })),
};
const period = {
  from: Type.Optional(Type.String({ ...instant, description: 'Start of the time range, inclusive (RFC 3339).' })),
  to: Type.Optional(Type.String({ ...instant, description: 'End of the time range, exclusive (RFC 3339).' })),
};

export const ListAuditLogsQuery = Type.Object({ ...paging, sort: sortable(['created_at']), ...filters, ...period });
export type ListAuditLogsQuery = Static<typeof ListAuditLogsQuery>;

export const AuditLogPage = pageOf(
  closed(
    {
      id: Uuid,
      tenant_id: Uuid,
      user_id: nullable(Uuid, { description: 'Actor, by user identifier; null if the actor is not a user.' }),
      action: Type.String({ description: 'Name of the action, such as `contact.created`.' }),
      resource_type: Type.String(),
      resource_id: nullable(Uuid),
      details: nullable(Type.Record(Type.String(), Type.Unknown()), {
        description: 'Changed fields and identifiers, never secrets; null without details.',
      }),
      ip_address: nullable(Type.String()),
      user_agent: nullable(Type.String()),
      created_at: Timestamp,
    },
    { title: 'AuditLog' },
  ),
);

export const ExportAuditLogsQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(['csv', 'ndjson'], {
      default: 'csv',
      description: 'File format: CSV with a header line, or one JSON object per line.',
    }),
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
      valid: Type.Boolean({ description: 'Whether the checked rows have no problem.' }),
      isComplete: Type.Boolean({
        description: 'Whether all rows were checked; false if the check stopped after 100 problems.',
      }),
      checked: Type.Integer({ description: 'Number of rows whose hash was computed again.' }),
      from: nullable(Type.String()),
      to: nullable(Type.String()),
      chains: Type.Array(
        closed({
          slot: Type.Integer({ description: 'Number of the hash chain.' }),
          length: Type.Integer({ description: 'Number of rows that were ever written to the chain.' }),
          head: Type.String({ description: 'Hash of the last row (SHA-256, hexadecimal).' }),
        }),
        { description: 'Hash chains of the tenant, with their current end.' },
      ),
      problems: Type.Array(
        closed({
          type: Type.Enum(['changed', 'reordered', 'missing', 'inserted', 'head'], {
            description:
              'Kind of problem. changed: the row, or the previous row, was modified. reordered: the row belongs to another position. missing: `count` rows were deleted, beginning at `position`. inserted: the service did not write the row. head: the end of the chain does not match its rows.',
          }),
          slot: nullable(Type.Integer(), { description: 'Number of the hash chain; null if the row belongs to none.' }),
          position: nullable(Type.Integer(), { description: 'Position in the chain; null if the row has none.' }),
          count: Type.Integer({ description: 'Number of affected rows.' }),
          id: nullable(Uuid, { description: 'Affected audit event; null if no single one is affected.' }),
        }),
        { description: 'Problems, at most 100.' },
      ),
    },
    { title: 'AuditVerification' },
  ),
);

export const Actions = listOf(
  closed(
    {
      action: Type.String({ description: 'Name of the action, such as `contact.created`.' }),
      resource_type: Type.String(),
      description: Type.String({ description: 'Operation that records the action.' }),
    },
    { title: 'AuditAction' },
  ),
);
