import { sql } from 'kysely';

import { chainSlots, contentDigest } from '#core/data/audit/audit.queries';
import { toRead, type ReadStatement } from '#core/data/db/query';

/** One chain as seen by one statement, so that head and rows are consistent. */
export type ChainState = {
  slot: number;
  /** Length according to the head; 0 without a head. */
  length: number;
  head: string | null;
  first_at: string | null;
  last_position: number | null;
  /** A row that names the chain but has no position in it. */
  unplaced_id: string | null;
};

type Span = { tenantId: string; slot: number; after: number; upTo: number };

const digest = contentDigest('audit_logs');

export function listChains(tenantId: string): ReadStatement<ChainState> {
  const ofSlot = sql`from audit_logs where tenant_id = ${tenantId} and chain_slot = slots.slot`;
  return toRead(sql<ChainState>`
    select slots.slot, coalesce(chain.length, 0)::bigint as length, encode(chain.head, 'hex') as head,
      (select created_at ${ofSlot} and chain_position >= 1 order by chain_position limit 1) as first_at,
      (select chain_position ${ofSlot} and chain_position is not null order by chain_position desc limit 1) as last_position,
      coalesce((select id ${ofSlot} and chain_position is null limit 1),
               (select id ${ofSlot} and chain_position < 1 limit 1)) as unplaced_id
    from (
      select generate_series(0, ${chainSlots - 1}::integer)::smallint as slot
      union select slot from audit_chains where tenant_id = ${tenantId}
    ) as slots
    left join audit_chains as chain on chain.tenant_id = ${tenantId} and chain.slot = slots.slot
    order by slots.slot`);
}

type Checked = {
  rows: number;
  /** Whether each row follows the previous one; null without rows. */
  is_whole: boolean | null;
  last_hash: string | null;
};

/** Whether the rows of a span follow each other and the given hash; computed in the database. */
export function checkSpan(
  { tenantId, slot, after, upTo }: Span,
  hash: string | null,
  max: number,
): ReadStatement<Checked> {
  return toRead(sql<Checked>`
    with span as materialized (
      select chain_position as position, chain_hash as hash, ${digest} as digest
      from audit_logs
      where tenant_id = ${tenantId} and chain_slot = ${slot} and chain_position > ${after} and chain_position <= ${upTo}
      order by chain_position limit ${max}
    ), linked as (
      select position, hash, digest,
        lag(position, 1, ${after}::bigint) over (order by position) as last,
        lag(hash, 1, decode(${hash}::text, 'hex')) over (order by position) as previous
      from span
    )
    select count(*) as rows,
      bool_and(coalesce(
        position = last + 1 and hash = case when position = 1 then digest else sha256(previous || digest) end,
        false
      )) as is_whole,
      (select encode(hash, 'hex') from span order by position desc limit 1) as last_hash
    from linked`);
}

type LinkRow = { position: number; hash: string | null; digest: string; id: string; created_at: string };

export function listLinks({ tenantId, slot, after, upTo }: Span, max: number): ReadStatement<LinkRow> {
  return toRead(sql<LinkRow>`
    select chain_position as position, encode(chain_hash, 'hex') as hash, encode(${digest}, 'hex') as digest, id, created_at
    from audit_logs
    where tenant_id = ${tenantId} and chain_slot = ${slot} and chain_position > ${after} and chain_position <= ${upTo}
    order by chain_position limit ${max}`);
}

/** Rows that name a chain which does not exist. */
export function listStrays(tenantId: string, max: number): ReadStatement<{ id: string; slot: number }> {
  return toRead(sql<{ id: string; slot: number }>`
    select id, chain_slot as slot from audit_logs where tenant_id = ${tenantId} and chain_slot >= ${chainSlots}
    union all
    select id, chain_slot from audit_logs where tenant_id = ${tenantId} and chain_slot < 0
    limit ${max}`);
}

/** Creation time of the tenant. */
export function findTenantBirth(tenantId: string): ReadStatement<{ created_at: string }> {
  return toRead(sql<{ created_at: string }>`select created_at from tenants where id = ${tenantId}`);
}

/** Rows without a chain that were written after chains existed, or that have a position without a chain; `from` null: no limit. */
export function listUnchained(
  tenantId: string,
  { from, to }: { from: string | null; to: string | null },
  max: number,
): ReadStatement<{ id: string }> {
  return toRead(sql<{ id: string }>`
    select id from audit_logs
    where tenant_id = ${tenantId} and chain_slot is null
      and (created_at >= coalesce(${from}::timestamptz, '-infinity') or chain_position is not null or chain_hash is not null)
      and created_at < coalesce(${to}::timestamptz, 'infinity')
    order by created_at limit ${max}`);
}
