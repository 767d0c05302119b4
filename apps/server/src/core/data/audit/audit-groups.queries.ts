import { sql } from 'kysely';

import { auditColumns, chainColumns, contentDigest, type AuditTables } from '#core/data/audit/audit.queries';
import { auditedWrite, queryBuilder, write, type Audited } from '#core/data/db/query';

type ChainTables = { audit_chains: { tenant_id: string; slot: number; length: number; head: Buffer } };

const builder = queryBuilder<AuditTables & ChainTables>();

type Chain = { tenantId: string; slot: number };

/** Makes sure that a chain exists: an empty one is invisible until its first row is written. */
export const openChain = write<Chain, never>((p) =>
  builder
    .insertInto('audit_chains')
    .columns(['tenant_id', 'slot', 'length', 'head'])
    .expression(
      builder.selectNoFrom([
        sql<string>`${p.tenantId}::uuid`.as('tenant_id'),
        sql<number>`${p.slot}::smallint`.as('slot'),
        sql<number>`0::bigint`.as('length'),
        sql<Buffer>`''::bytea`.as('head'),
      ]),
    )
    .onConflict((conflict) => conflict.columns(['tenant_id', 'slot']).doNothing()),
);

const recordset = sql`jsonb_to_recordset`;
const columns = sql`(tenant_id uuid, created_at timestamptz(3), id uuid, user_id uuid, action text,
  resource_type text, resource_id uuid, details jsonb, ip_address text, user_agent text)`;

/**
 * Rows of one tenant at the end of a chain, if there is one yet: as one statement, because what each of them costs alone is
 * mostly the statement. Its answer is how many rows the chain has got.
 * @param rows a JSON array of them
 */
export const insertGroup = auditedWrite<Chain & { rows: string }, { length: number }>((p) => {
  const names = [...auditColumns, ...chainColumns].map((name) => sql.ref(name));
  const query = sql`with
    before as (select length, head from audit_chains
      where tenant_id = ${p.tenantId}::uuid and slot = ${p.slot}::smallint for update),
    event as (select e.*, before.length, before.head from before cross join ${recordset}(${p.rows}::jsonb) as e${columns}),
    linked as materialized (
      select ${sql.join(auditColumns.map((name) => sql.ref(name)))}, ${p.slot}::smallint as chain_slot,
        length + row_number() over up_to_here as chain_position,
        app_audit_chain(${contentDigest('event')}, head) over up_to_here as chain_hash
      from event window up_to_here as (rows unbounded preceding)
    ),
    chained as (
      update audit_chains set length = last.chain_position, head = last.chain_hash
      from (select chain_position, chain_hash from linked order by chain_position desc limit 1) as last
      where tenant_id = ${p.tenantId}::uuid and slot = ${p.slot}::smallint
      returning length
    ),
    logged as (insert into audit_logs (${sql.join(names)}) select ${sql.join(names)} from linked)
    select length from chained`;
  return query as unknown as Audited<{ length: number }>;
});
