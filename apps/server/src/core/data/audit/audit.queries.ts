import { sql, type RawBuilder } from 'kysely';

import type { Actor, RequestFacts } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditedWrite, queryBuilder, type Audited, type Built, type WriteStatement } from '#core/data/db/query';
import type { CountTables, CountedTable } from '#core/data/db/totals';

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

type ChainTables = { audit_chains: { tenant_id: string; slot: number; length: number; head: Buffer } };

/**
 * One operation on one resource. `details.fields` names the properties given; apart from names and ids `details` holds only
 * facts that a reader of the trail needs (which provider, which group), never a secret and never content.
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
  /** Of the chain, and of the counts that change with it. */
  slot: number;
};

const builder = queryBuilder<AuditTables & ChainTables & CountTables>();
/** For what is named within one statement. */
const named = queryBuilder<{ event: AuditTables['audit_logs']; chained: ChainTables['audit_chains'] }>();

/** Maximum number of chains per tenant; writers of one chain wait for each other's commit. */
export const chainSlots = 32;

/**
 * The chain that a request writes to. All rows of a request go into one: two requests that wrote to several chains each
 * could wait for each other in a circle.
 */
export function chainSlot(requestId: string): number {
  let sum = 0;
  for (let at = 0; at < requestId.length; at++) sum = (Math.imul(sum, 31) + requestId.charCodeAt(at)) | 0;
  return (sum >>> 0) % chainSlots;
}

/** Actor and origin, for a statement wrapped by `withAudit`. */
export function auditParams(actor: Actor, at: string, details: Record<string, unknown> = {}): AuditParams {
  const { request } = actor;
  return {
    tenantId: actor.tenantId,
    auditId: newId(),
    auditAt: at,
    auditUserId: actor.userId,
    auditDetails: { ...details, ...presentRequest(request), actor: presentActor(actor) },
    auditIp: request.ip,
    auditUserAgent: request.userAgent,
    slot: chainSlot(request.id),
  };
}

type ChangeEvent = { action: string; resourceType: string; counts?: { table: CountedTable; by: 1 | -1 } };

/**
 * A change and its audit row as ONE statement: no row changed, no row in the trail; no trail, no change. In a transaction it
 * comes last, because it locks the head of a chain: who waits for a row while holding that keeps others from theirs.
 * @param change an INSERT, UPDATE or DELETE of at most one row that returns at least `id`; its row is the result.
 */
export function withAudit<Row>(change: Built<Row>, event: ChangeEvent, params: AuditParams): Audited<Row> {
  const { counts } = event;
  const audited = builder
    .with('changed', () => change as never)
    .with(
      'event',
      (db) =>
        (db as unknown as typeof builder)
          .selectFrom('changed' as never)
          .select([
            sql`${params.tenantId}::uuid`.as('tenant_id'),
            sql`${params.auditAt}::timestamptz(3)`.as('created_at'),
            sql`${params.auditId}::uuid`.as('id'),
            sql`${params.auditUserId}::uuid`.as('user_id'),
            sql`${event.action}::text`.as('action'),
            sql`${event.resourceType}::text`.as('resource_type'),
            sql`changed.id::uuid`.as('resource_id'),
            sql`${params.auditDetails}::jsonb`.as('details'),
            sql`${params.auditIp}::text`.as('ip_address'),
            sql`${params.auditUserAgent}::text`.as('user_agent'),
          ]) as never,
    )
    .with('chained', (db) => advanceChain(db, params.slot))
    .with('logged', (db) => insertChained(db));
  const query = counts === undefined ? audited : audited.with('counted', (db) => addToCount(db, counts, params));
  return query.selectFrom('changed' as never).selectAll() as unknown as Audited<Row>;
}

/**
 * The audit row, and the count, of a deletion that a statement before it in the transaction has made for certain: of what takes
 * other rows along, which PostgreSQL locks only at the end of the statement that deletes.
 */
export function auditOfDone(event: ChangeEvent) {
  return auditedWrite<{ id: string } & AuditParams, { id: string }>((p) => {
    const done = builder.selectNoFrom(sql<string>`${p.id}::uuid`.as('id'));
    return withAudit<{ id: string }>(done, event, p);
  });
}

/** Moves the head of a chain on by the row in `event`, if there is one: the only upsert that a row of the trail costs. */
function advanceChain(db: object, slot: number) {
  const within = db as typeof builder;
  return within
    .insertInto('audit_chains')
    .columns(['tenant_id', 'slot', 'length', 'head'])
    .expression(
      within
        .selectFrom('event' as never)
        .select([
          sql`event.tenant_id`.as('tenant_id'),
          sql`${slot}::smallint`.as('slot'),
          sql`1::bigint`.as('length'),
          contentDigest('event').as('head'),
        ]) as never,
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'slot']).doUpdateSet({
        length: sql`audit_chains.length + 1`,
        head: sql`sha256(audit_chains.head || excluded.head)`,
      }),
    )
    .returning(['slot', 'length', 'head']);
}

function insertChained(db: object) {
  return (db as typeof builder)
    .insertInto('audit_logs')
    .columns([...auditColumns, ...chainColumns] as never)
    .expression(
      named
        .selectFrom('event')
        .crossJoin('chained')
        .select([
          ...auditColumns.map((name) => sql.ref(`event.${name}`).as(name)),
          sql`chained.slot`.as('chain_slot'),
          sql`chained.length`.as('chain_position'),
          sql`chained.head`.as('chain_hash'),
        ]) as never,
    );
}

function addToCount(db: object, counts: { table: CountedTable; by: 1 | -1 }, params: AuditParams) {
  const within = db as typeof builder;
  return within
    .insertInto('row_counts')
    .columns(['tenant_id', 'table_name', 'slot', 'amount'])
    .expression(
      within
        // Locks the head of the chain first: its holder alone writes the counts of this slot, so no deadlock is possible.
        .selectFrom('chained' as never)
        .select([
          sql`${params.tenantId}::uuid`.as('tenant_id'),
          sql`${counts.table}::text`.as('table_name'),
          sql`chained.slot`.as('slot'),
          sql`${counts.by}::bigint`.as('amount'),
        ]) as never,
    )
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'table_name', 'slot'])
        .doUpdateSet({ amount: sql`row_counts.amount + excluded.amount` }),
    );
}

export const auditColumns = [
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
export const chainColumns = ['chain_slot', 'chain_position', 'chain_hash'] as const;

/** The actor: a principal, or the part of it that is known. `userId` is null unless the actor is a person. */
export type Who = {
  kind?: Actor['kind'];
  id?: string;
  tenantId: string;
  homeTenantId?: string;
  userId: string | null;
};

/**
 * An audit row of its own, for events that change no row of a tenant table (a login, a refused password). The last statement of
 * its transaction, as `withAudit` is.
 */
export function auditEvent(who: Who & { request: RequestFacts }, at: string, event: AuditEvent): WriteStatement<never> {
  return insertEvent({ ...toAuditRow(who, at, event), slot: chainSlot(who.request.id) });
}

// A user of another tenant is a system administrator who acts in this tenant; the actor records both tenants.
function presentActor(who: Who) {
  const { tenantId, homeTenantId = tenantId, userId } = who;
  const from = homeTenantId === tenantId ? {} : { actingFromTenantId: homeTenantId };
  return { type: who.kind ?? (userId === null ? 'anonymous' : 'user'), id: who.id ?? userId, ...from };
}

function presentRequest({ id, toolCall }: RequestFacts) {
  return toolCall === undefined ? { requestId: id } : { requestId: id, mcp: toolCall };
}

/** The columns of a row of the trail but those of its chain, ready for `insertEvent` and `insertGroup`. */
export function toAuditRow(
  who: Who & { request: RequestFacts },
  at: string,
  event: AuditEvent,
): AuditTables['audit_logs'] {
  return {
    tenant_id: who.tenantId,
    created_at: at,
    id: newId(),
    user_id: who.userId,
    action: event.action,
    resource_type: event.resourceType,
    resource_id: event.resourceId ?? null,
    details: { ...event.details, ...presentRequest(who.request), actor: presentActor(who) },
    ip_address: who.request.ip,
    user_agent: who.request.userAgent,
  };
}

const insertEvent = auditedWrite<AuditTables['audit_logs'] & { slot: number }, never>(
  (row) =>
    insertChained(
      builder
        .with('event', (db) =>
          (db as unknown as typeof builder).selectNoFrom([
            sql`${row.tenant_id}::uuid`.as('tenant_id'),
            sql`${row.created_at}::timestamptz(3)`.as('created_at'),
            sql`${row.id}::uuid`.as('id'),
            sql`${row.user_id}::uuid`.as('user_id'),
            sql`${row.action}::text`.as('action'),
            sql`${row.resource_type}::text`.as('resource_type'),
            sql`${row.resource_id}::uuid`.as('resource_id'),
            sql`${row.details}::jsonb`.as('details'),
            sql`${row.ip_address}::text`.as('ip_address'),
            sql`${row.user_agent}::text`.as('user_agent'),
          ]),
        )
        .with('chained', (db) => advanceChain(db, row.slot)),
    ) as unknown as Audited<never>,
);

type Column = RawBuilder<unknown>;

const text = (column: Column) => sql`coalesce(octet_length(${column})::text || ':' || ${column}, '-')`;
const uuid = (column: Column) => sql`coalesce('36:' || ${column}::text, '-')`;
const time = (column: Column) => text(sql`((extract(epoch from ${column}) * 1000)::bigint)::text`);
// At the end and without a length, as to write jsonb twice is most of what a digest would cost.
const json = (column: Column) => sql`coalesce(${column}::text, '-')`;

const contents: readonly [name: string, format: (column: Column) => Column][] = [
  ['tenant_id', uuid],
  ['created_at', time],
  ['id', uuid],
  ['user_id', uuid],
  ['action', text],
  ['resource_type', text],
  ['resource_id', uuid],
  ['ip_address', text],
  ['user_agent', text],
  ['details', json],
];

/**
 * SHA-256 over the content of an audit row: each column in this order as `<bytes>:<text>`, or `-` where it is null; the
 * time in milliseconds since 1970; at the end details as PostgreSQL writes jsonb, without a length. Nothing in it depends on
 * zone or locale.
 * @param source what the columns are read from, in the statement that this becomes part of.
 */
export function contentDigest(source: 'event' | 'audit_logs'): RawBuilder<Buffer> {
  const fields = contents.map(([name, format]) => format(sql.ref(`${source}.${name}`)));
  return sql<Buffer>`sha256(convert_to(${sql.join(fields, sql` || `)}, 'UTF8'))`;
}
