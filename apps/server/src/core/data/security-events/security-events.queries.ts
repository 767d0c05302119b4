import { sql, type SelectQueryBuilder } from 'kysely';

import { queryBuilder, toRead, write, type ReadStatement } from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';

export const securityEventTypes = ['login_failed', 'permission_denied', 'api_key_used', 'admin_action'] as const;
export type SecurityEventType = (typeof securityEventTypes)[number];

export type SecurityEventTables = {
  security_events: {
    id: string;
    created_at: string;
    event_type: SecurityEventType;
    concerned_tenant_id: string | null;
    user_id: string | null;
    details: Record<string, unknown>;
  };
};

const builder = queryBuilder<SecurityEventTables>();

export type SecurityEventRow = SecurityEventTables['security_events'];

/** Many rows as one statement of fixed text: the rows come as one JSON array. */
export const insertSecurityEvents = write<{ rows: string }, never>((p) =>
  builder
    .insertInto('security_events')
    .columns(['id', 'created_at', 'event_type', 'concerned_tenant_id', 'user_id', 'details'])
    .expression((db) =>
      db
        .selectFrom(
          sql<SecurityEventRow>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'e'>(
            sql`e(id uuid, created_at timestamptz, event_type text, concerned_tenant_id uuid, user_id uuid, details jsonb)`,
          ),
        )
        .select(['e.id', 'e.created_at', 'e.event_type', 'e.concerned_tenant_id', 'e.user_id', 'e.details']),
    )
    .onConflict((conflict) => conflict.column('id').doNothing()),
);

export type SecurityEventFilters = {
  eventType?: SecurityEventType | undefined;
  tenantId?: string | undefined;
  userId?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

type EventSelect = SelectQueryBuilder<SecurityEventTables, 'security_events', object>;

export function listSecurityEvents(
  filters: SecurityEventFilters,
  page: { limit: number; offset: number; descending: boolean },
): ReadStatement<SecurityEventRow> {
  const direction = page.descending ? 'desc' : 'asc';
  return toRead(
    matching(filters)
      .selectAll()
      .orderBy('created_at', direction)
      .orderBy('id', direction)
      .limit(page.limit)
      .offset(page.offset),
  );
}

export function countSecurityEvents(filters: SecurityEventFilters): ReadStatement<{ total: number }> {
  return countMatches(matching(filters).select('id'));
}

function matching(filters: SecurityEventFilters): EventSelect {
  let query: EventSelect = builder.selectFrom('security_events');
  if (filters.eventType !== undefined) query = query.where('event_type', '=', filters.eventType);
  if (filters.tenantId !== undefined) query = query.where('concerned_tenant_id', '=', filters.tenantId);
  if (filters.userId !== undefined) query = query.where('user_id', '=', filters.userId);
  if (filters.from !== undefined) query = query.where('created_at', '>=', filters.from);
  if (filters.to !== undefined) query = query.where('created_at', '<', filters.to);
  return query;
}

/** Housekeeping: events after their retention. */
export const deleteOldSecurityEvents = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('security_events')
    .where('id', 'in', (db) =>
      db.selectFrom('security_events').select('id').where('created_at', '<', p.before).limit(p.max),
    )
    .returning(sql<number>`1`.as('deleted')),
);
