import { sql } from 'kysely';

import type { Actor, RequestFacts } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import { queryBuilder, statement, type Built, type Query } from '#core/db/query';
import type { CountTables, CountedTable } from '#core/db/totals';

export type AuditTables = {
  audit_logs: {
    tenant_id: string;
    created_at: string;
    id: string;
    user_id: string | null;
    action: string;
    resource_type: string;
    resource_id: string | null;
    details: Record<string, unknown> | null;
    ip_address: string | null;
    user_agent: string | null;
  };
};

/**
 * What happened to what. `details.fields` names what was given; beside names and ids `details` holds only what a reader of
 * the trail has to know (which provider, which group), never a secret and never content.
 */
export type AuditEvent = {
  action: string;
  resourceType: string;
  resourceId?: string | null;
  details?: Record<string, unknown>;
};

/** The part of an audit row that is known before the change has happened. */
export type AuditParams = {
  tenantId: string;
  auditId: string;
  auditAt: string;
  auditUserId: string | null;
  auditDetails: Record<string, unknown>;
  auditIp: string | null;
  auditUserAgent: string | null;
  countSlot: number;
};

const builder = queryBuilder<AuditTables & CountTables>();
const countSlots = 32;

/** Who did it from where, for a statement wrapped by `withAudit`. */
export function auditParams(actor: Actor, at: string, details: Record<string, unknown> = {}): AuditParams {
  const { request } = actor;
  return {
    tenantId: actor.tenantId,
    auditId: newId(),
    auditAt: at,
    auditUserId: actor.userId,
    auditDetails: { ...details, actor: presentActor(actor), requestId: request.id },
    auditIp: request.ip,
    auditUserAgent: request.userAgent,
    countSlot: Math.floor(Math.random() * countSlots),
  };
}

/**
 * A change and its audit row as ONE statement: no row changed, no row in the trail; no trail, no change.
 * @param change an INSERT, UPDATE or DELETE of at most one row that returns at least `id`; its row is the result.
 */
export function withAudit<Row>(
  change: Built<Row>,
  event: { action: string; resourceType: string; counts?: { table: CountedTable; by: 1 | -1 } },
  params: AuditParams,
): Built<Row> {
  const { counts } = event;
  const audited = builder
    .with('changed', () => change as never)
    .with('logged', (db) =>
      db
        .insertInto('audit_logs')
        .columns(auditColumns)
        .expression(
          (db as unknown as typeof builder)
            .selectFrom('changed' as never)
            .select([
              sql`${params.tenantId}::uuid`.as('tenant_id'),
              sql`${params.auditAt}::timestamptz`.as('created_at'),
              sql`${params.auditId}::uuid`.as('id'),
              sql`${params.auditUserId}::uuid`.as('user_id'),
              sql`${event.action}::text`.as('action'),
              sql`${event.resourceType}::text`.as('resource_type'),
              sql`changed.id`.as('resource_id'),
              sql`${params.auditDetails}::jsonb`.as('details'),
              sql`${params.auditIp}::text`.as('ip_address'),
              sql`${params.auditUserAgent}::text`.as('user_agent'),
            ]) as never,
        ),
    );
  const query = counts === undefined ? audited : audited.with('counted', (db) => addToCount(db, counts, params));
  return query.selectFrom('changed' as never).selectAll() as unknown as Built<Row>;
}

function addToCount(db: object, counts: { table: CountedTable; by: 1 | -1 }, params: AuditParams) {
  const within = db as typeof builder;
  return within
    .insertInto('row_counts')
    .columns(['tenant_id', 'table_name', 'slot', 'amount'])
    .expression(
      within
        .selectFrom('changed' as never)
        .select([
          sql`${params.tenantId}::uuid`.as('tenant_id'),
          sql`${counts.table}::text`.as('table_name'),
          sql`${params.countSlot}::smallint`.as('slot'),
          sql`${counts.by}::bigint`.as('amount'),
        ]) as never,
    )
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'table_name', 'slot'])
        .doUpdateSet({ amount: sql`row_counts.amount + excluded.amount` }),
    );
}

const auditColumns = [
  'tenant_id',
  'created_at',
  'id',
  'user_id',
  'action',
  'resource_type',
  'resource_id',
  'details',
  'ip_address',
  'user_agent',
] as const;

/** Whoever acted: a principal, or as much of one as is known. `userId` is null unless it was a person. */
type Who = {
  kind?: Actor['kind'];
  id?: string;
  tenantId: string;
  homeTenantId?: string;
  userId: string | null;
};

/** An audit row of its own, for events that change no row of a tenant table (a login, a refused password). */
export function auditEvent(who: Who & { request: RequestFacts }, at: string, event: AuditEvent): Query<never> {
  return insertEvent({
    tenant_id: who.tenantId,
    created_at: at,
    id: newId(),
    user_id: who.userId,
    action: event.action,
    resource_type: event.resourceType,
    resource_id: event.resourceId ?? null,
    details: { ...event.details, actor: presentActor(who), requestId: who.request.id },
    ip_address: who.request.ip,
    user_agent: who.request.userAgent,
  });
}

// Somebody of another tenant is a system administrator who named this one: that is part of who it was.
function presentActor(who: Who) {
  const { tenantId, homeTenantId = tenantId, userId } = who;
  const from = homeTenantId === tenantId ? {} : { actingFromTenantId: homeTenantId };
  return { type: who.kind ?? (userId === null ? 'anonymous' : 'user'), id: who.id ?? userId, ...from };
}

const insertEvent = statement<AuditTables['audit_logs'], never>((row) =>
  builder
    .insertInto('audit_logs')
    .values(Object.fromEntries(auditColumns.map((name) => [name, row[name]])) as AuditTables['audit_logs']),
);
