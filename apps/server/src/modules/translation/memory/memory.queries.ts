import { sql } from 'kysely';

import { queryBuilder, statement } from '#core/db/query';

export type MemoryRow = {
  tenant_id: string;
  /** SHA-256 over all that the translation depends on. */
  key: Buffer;
  translation: string;
  provider: string;
  model: string | null;
  created_at: string;
};

export type Remembered = Pick<MemoryRow, 'translation' | 'provider' | 'model'>;

type Tables = {
  translation_memory: MemoryRow;
  operation_overrides: { tenant_id: string; operation_key: string; enabled: boolean };
};

const builder = queryBuilder<Tables>();

type Of = { tenantId: string; operation: string; notBefore: string };

/** Both find nothing where the tenant has switched the operation off. */
const isSwitchedOff = (tenantId: string, operation: string) =>
  builder
    .selectFrom('operation_overrides')
    .select('enabled')
    .where('tenant_id', '=', tenantId)
    .where('operation_key', '=', operation)
    .where('enabled', '=', false);

export const findRemembered = statement<Of & { key: Buffer }, Remembered>((p) =>
  builder
    .selectFrom('translation_memory')
    .select(['translation', 'provider', 'model'])
    .where('tenant_id', '=', p.tenantId)
    .where('key', '=', p.key)
    .where('created_at', '>', p.notBefore)
    .where(({ exists, not }) => not(exists(isSwitchedOff(p.tenantId, p.operation)))),
);

/** `keys` in hexadecimal. */
export const listRemembered = statement<Of & { keys: readonly string[] }, Remembered & { key: string }>((p) =>
  builder
    .selectFrom('translation_memory')
    .select([sql<string>`encode(key, 'hex')`.as('key'), 'translation', 'provider', 'model'])
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`key = any(array(select decode(k, 'hex') from unnest(${p.keys}::text[]) as k))`)
    .where('created_at', '>', p.notBefore)
    .where(({ exists, not }) => not(exists(isSwitchedOff(p.tenantId, p.operation)))),
);

/** A row where the installation, whose tenant it then is, has switched the operation off for all. */
export const findSwitchedOff = statement<{ tenantId: string; operation: string }, { enabled: boolean }>((p) =>
  isSwitchedOff(p.tenantId, p.operation),
);

/**
 * `rows` is JSON: `[{key, translation, provider, model}]`, keys in hexadecimal. In the order of keys: requests that remember the
 * same texts must not wait for each other in a circle.
 */
export const remember = statement<{ tenantId: string; rows: string; at: string }, never>((p) =>
  builder
    .insertInto('translation_memory')
    .columns(['tenant_id', 'key', 'translation', 'provider', 'model', 'created_at'])
    .expression((db) =>
      db
        .selectFrom(
          sql<{ key: string; translation: string; provider: string; model: string | null }>`
            jsonb_to_recordset(${p.rows}::jsonb)`.as<'r'>(
            sql`r(key text, translation text, provider text, model text)`,
          ),
        )
        .select([
          sql<string>`${p.tenantId}::uuid`.as('tenant_id'),
          sql<Buffer>`decode(r.key, 'hex')`.as('key'),
          'r.translation',
          'r.provider',
          'r.model',
          sql<string>`${p.at}::timestamptz(3)`.as('created_at'),
        ])
        .orderBy('r.key'),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'key']).doUpdateSet({
        translation: sql`excluded.translation`,
        provider: sql`excluded.provider`,
        model: sql`excluded.model`,
        created_at: sql`excluded.created_at`,
      }),
    ),
);

/** Housekeeping: how much of which tenant there is. */
export const listMemories = statement<Record<string, never>, { tenant_id: string; entries: number }>(() =>
  builder
    .selectFrom('translation_memory')
    .select(['tenant_id', sql<number>`count(*)`.as('entries')])
    .groupBy('tenant_id'),
);

/** Housekeeping: what is older than that. */
export const forgetOld = statement<{ tenantId: string; before: string; most: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('translation_memory')
    .where('tenant_id', '=', p.tenantId)
    .where('key', 'in', (db) =>
      db
        .selectFrom('translation_memory')
        .select('key')
        .where('tenant_id', '=', p.tenantId)
        .where('created_at', '<', p.before)
        .limit(p.most),
    )
    .returning(sql<number>`1`.as('deleted')),
);

/** Housekeeping: so many of the oldest. */
export const forgetExcess = statement<{ tenantId: string; most: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('translation_memory')
    .where('tenant_id', '=', p.tenantId)
    .where('key', 'in', (db) =>
      db
        .selectFrom('translation_memory')
        .select('key')
        .where('tenant_id', '=', p.tenantId)
        .orderBy('created_at')
        .limit(p.most),
    )
    .returning(sql<number>`1`.as('deleted')),
);
