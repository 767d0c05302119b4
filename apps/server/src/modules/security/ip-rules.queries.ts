import { sql, type SelectQueryBuilder } from 'kysely';

import {
  lock,
  queryBuilder,
  read,
  toRead,
  toWrite,
  write,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';
import type { IpRuleRow, IpRuleTables } from '#core/platform/limits/address-rules.queries';

const builder = queryBuilder<IpRuleTables>();

const columns = [
  'id',
  'range',
  'action',
  'source',
  'reason',
  'expires_at',
  'created_by',
  'created_at',
  'updated_at',
] as const;

export type IpRuleFilters = {
  action: IpRuleRow['action'] | undefined;
  source: IpRuleRow['source'] | undefined;
  active: boolean | undefined;
  /** In canonical form. */
  covering: string | undefined;
  now: string;
};

type Order = { column: 'created_at' | 'range'; descending: boolean };

export function listIpRules(
  filters: IpRuleFilters,
  { limit, offset, order }: { limit: number; offset: number; order: Order },
): ReadStatement<IpRuleRow> {
  const direction = order.descending ? 'desc' : 'asc';
  // Sorted as addresses, so that 9.0.0.1 comes before 10.0.0.1.
  const by = order.column === 'range' ? sql`range::inet` : sql`created_at`;
  const rows = filtered(filters).select(columns).orderBy(by, direction).orderBy('id', direction);
  return toRead(rows.limit(limit).offset(offset));
}

export function countIpRules(filters: IpRuleFilters): ReadStatement<{ total: number }> {
  return countMatches(filtered(filters).select('id'));
}

function filtered(filters: IpRuleFilters): SelectQueryBuilder<IpRuleTables, 'ip_rules', object> {
  const { action, source, active, covering, now } = filters;
  let query: SelectQueryBuilder<IpRuleTables, 'ip_rules', object> = builder.selectFrom('ip_rules');
  if (action !== undefined) query = query.where('action', '=', action);
  if (source !== undefined) query = query.where('source', '=', source);
  if (active === true) query = query.where(sql<boolean>`(expires_at is null or expires_at > ${now}::timestamptz)`);
  if (active === false) query = query.where(sql<boolean>`expires_at <= ${now}::timestamptz`);
  if (covering !== undefined) query = query.where(sql<boolean>`range::inet >>= ${covering}::inet`);
  return query;
}

export const findIpRule = read<{ id: string }, IpRuleRow>((p) =>
  builder.selectFrom('ip_rules').select(columns).where('id', '=', p.id),
);

/** Serialises changes of rules and configuration: the check for a lockout must still be true at the commit. */
export const lockIpRules = lock<Record<string, never>, never>(
  () => sql`select pg_advisory_xact_lock(hashtextextended('ip_rules', 0))`,
);

/** Action and expiry of the rules in force for an address; there are at most as many as sizes of ranges. */
export const listVerdicts = read<{ address: string; now: string }, Pick<IpRuleRow, 'action' | 'expires_at'>>((p) =>
  builder
    .selectFrom('ip_rules')
    .select(['action', 'expires_at'])
    .where(sql<boolean>`(expires_at is null or expires_at > ${p.now}::timestamptz)`)
    .where(sql<boolean>`range::inet >>= ${p.address}::inet`),
);

/** Deletes automatic and expired rules of the same range before a manual one is created. */
export const deleteReplaceable = write<{ range: string; now: string }, never>((p) =>
  builder
    .deleteFrom('ip_rules')
    .where('range', '=', p.range)
    .where(sql<boolean>`(source = 'automatic' or expires_at <= ${p.now}::timestamptz)`),
);

export const insertIpRule = write<Omit<IpRuleRow, 'source' | 'updated_at'>, IpRuleRow>((p) =>
  builder
    .insertInto('ip_rules')
    .values({
      id: p.id,
      range: p.range,
      action: p.action,
      source: 'manual',
      reason: p.reason,
      expires_at: p.expires_at,
      created_by: p.created_by,
      created_at: p.created_at,
      updated_at: p.created_at,
    })
    .returning(columns),
);

export type IpRuleChanges = Partial<Pick<IpRuleRow, 'action' | 'reason' | 'expires_at'>>;

/** An update makes every rule a manual one. */
export function updateIpRule(id: string, changes: IpRuleChanges, at: string): WriteStatement<IpRuleRow> {
  return toWrite(
    builder
      .updateTable('ip_rules')
      .set({ ...changes, source: 'manual', updated_at: at })
      .where('id', '=', id)
      .returning(columns),
  );
}

export const deleteIpRule = write<{ id: string }, { id: string }>((p) =>
  builder.deleteFrom('ip_rules').where('id', '=', p.id).returning('id'),
);
