import { sql } from 'kysely';

import { queryBuilder, write } from '#core/data/db/query';

type QuotaRow = {
  tenant_id: string;
  operation_key: string;
  unit: string;
  period: string;
  starts_at: string;
  used: number;
};

const builder = queryBuilder<{ operation_quota: QuotaRow }>();

const windows = (json: string) =>
  sql`jsonb_to_recordset(${json}::jsonb)
    as w(unit text, period text, starts_at timestamptz, amount bigint, "limit" bigint)`;

type Of = { tenantId: string; operation: string; windows: string };

/** Creates a row with usage 0 for each new period, so that it can be locked. */
export const openQuota = write<Of, never>(
  (p) =>
    sql`insert into operation_quota (tenant_id, operation_key, unit, period, starts_at, used)
    select ${p.tenantId}::uuid, ${p.operation}::text, w.unit, w.period, w.starts_at, 0
    from ${windows(p.windows)} order by w.unit, w.period
    on conflict do nothing`,
);

// All transactions lock in the same order, so that they cannot deadlock.
const locked = (p: Of) => sql`
  locked as materialized (
    select q.unit, q.period, q.starts_at, q.used, w.amount, w."limit"
    from operation_quota q
    join ${windows(p.windows)} on w.unit = q.unit and w.period = q.period and w.starts_at = q.starts_at
    where q.tenant_id = ${p.tenantId}::uuid and q.operation_key = ${p.operation}::text
    order by q.unit, q.period
    for update of q)`;

/**
 * Reserves the amount in all periods or in none, and returns the exceeded ones. An amount of 0 (tokens are known only afterwards)
 * needs a remaining quota.
 */
export const reserveQuota = write<Of, { period: 'minute' | 'day' | 'month'; is_over: boolean }>(
  (p) =>
    sql`with ${locked(p)},
    judged as materialized (select *, used + greatest(amount, 1) > "limit" as is_over from locked),
    taken as (
      update operation_quota q set used = q.used + j.amount
      from judged j
      where q.tenant_id = ${p.tenantId}::uuid and q.operation_key = ${p.operation}::text
        and q.unit = j.unit and q.period = j.period and q.starts_at = j.starts_at
        and j.amount > 0 and not exists (select from judged where is_over))
    select period, is_over from judged`,
);

/** Corrects the usage after a call; never below 0. */
export const settleQuota = write<Of, never>(
  (p) =>
    sql`with ${locked(p)}
    update operation_quota q set used = greatest(0, q.used + l.amount)
    from locked l
    where q.tenant_id = ${p.tenantId}::uuid and q.operation_key = ${p.operation}::text
      and q.unit = l.unit and q.period = l.period and q.starts_at = l.starts_at and l.amount <> 0`,
);

/** Deletes periods that have ended. */
export const deleteOldQuota = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('operation_quota')
    .where(
      sql<boolean>`(tenant_id, operation_key, unit, period, starts_at) in (
        select tenant_id, operation_key, unit, period, starts_at from operation_quota
        where starts_at < ${p.before} and (period <> 'month' or starts_at < ${p.before}::timestamptz - interval '31 days')
        limit ${p.max})`,
    )
    .returning(sql<number>`1`.as('deleted')),
);
