import { sql } from 'kysely';

import { queryBuilder, read, write, type WriteStatement } from '#core/data/db/query';

export type IpRuleRow = {
  id: string;
  range: string;
  action: 'allow' | 'block';
  source: 'manual' | 'automatic';
  reason: string | null;
  expires_at: string | null;
  created_by: string | null;
  created_at: string;
  updated_at: string;
};

export type IpRuleTables = { ip_rules: IpRuleRow };

/** Every process listens here and reads all rules again. */
export const addressRulesChannel = 'atrium_ip_rules';

const builder = queryBuilder<IpRuleTables>();

/** Those in effect; where there are too many, what was allowed and then the newest. */
export const listRulesInEffect = read<{ now: string; max: number }, Pick<IpRuleRow, 'range' | 'action' | 'expires_at'>>(
  (p) =>
    builder
      .selectFrom('ip_rules')
      .select(['range', 'action', 'expires_at'])
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', p.now)]))
      .orderBy('action')
      .orderBy('created_at', 'desc')
      .limit(p.max),
);

/** Many at once, as one JSON array. A manual rule stays, unless it has expired. */
export const blockAutomatically = write<{ rows: string }, never>((p) =>
  builder
    .insertInto('ip_rules')
    .columns(['id', 'range', 'action', 'source', 'reason', 'expires_at', 'created_at', 'updated_at'])
    .expression((db) =>
      db
        .selectFrom(
          sql<IpRuleRow>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'r'>(
            sql`r(id uuid, range text, action text, source text, reason text, expires_at timestamptz, created_at timestamptz, updated_at timestamptz)`,
          ),
        )
        .select(['r.id', 'r.range', 'r.action', 'r.source', 'r.reason', 'r.expires_at', 'r.created_at', 'r.updated_at'])
        // Always in one order, so that two processes never wait for each other in a circle.
        .orderBy('r.range'),
    )
    .onConflict((conflict) =>
      conflict
        .column('range')
        .doUpdateSet({
          action: sql`excluded.action`,
          source: sql`excluded.source`,
          reason: sql`excluded.reason`,
          expires_at: sql`excluded.expires_at`,
          created_by: null,
          updated_at: sql`excluded.updated_at`,
        })
        .where(sql<boolean>`ip_rules.source = 'automatic' or ip_rules.expires_at <= excluded.created_at`),
    ),
);

/** Housekeeping: automatic rules whose time is long over. */
export const deleteEndedRules = write<{ before: string; max: number }, { id: string }>((p) =>
  builder
    .deleteFrom('ip_rules')
    .where('id', 'in', (db) =>
      db
        .selectFrom('ip_rules')
        .select('id')
        .where('source', '=', 'automatic')
        .where('expires_at', '<', p.before)
        .limit(p.max),
    )
    .returning('id'),
);

/** Tells all processes, when and only when the transaction commits. */
export function announceRules(): WriteStatement<never> {
  return { kind: 'write', text: 'select pg_notify($1, $2)', values: [addressRulesChannel, ''], prepare: true };
}
