import { sql } from 'kysely';

import { queryBuilder, read, write } from '#core/data/db/query';

export type MemoryRow = {
  tenant_id: string;
  /** SHA-256 of all inputs of the translation. */
  key: Buffer;
  translation: string;
  provider: string;
  model: string | null;
  created_at: string;
};

export type Remembered = Pick<MemoryRow, 'translation' | 'provider' | 'model' | 'created_at'>;

/** An enabled connector with the time of its latest change. */
export type Maker = { api_key: string; updated_at: string };

type Tables = {
  translation_memory: MemoryRow;
  operation_overrides: { tenant_id: string; operation_key: string; enabled: boolean };
  connectors: Maker & { tenant_id: string; enabled: boolean };
};

const builder = queryBuilder<Tables>();

type Of = { tenantId: string; notBefore: string };

export const findRemembered = read<Of & { key: Buffer }, Remembered>((p) =>
  builder
    .selectFrom('translation_memory')
    .select(['translation', 'provider', 'model', 'created_at'])
    .where('tenant_id', '=', p.tenantId)
    .where('key', '=', p.key)
    .where('created_at', '>', p.notBefore),
);

/** `keys` in hexadecimal. */
export const listRemembered = read<Of & { keys: readonly string[] }, Remembered & { key: string }>((p) =>
  builder
    .selectFrom('translation_memory')
    .select([sql<string>`encode(key, 'hex')`.as('key'), 'translation', 'provider', 'model', 'created_at'])
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`key = any(array(select decode(k, 'hex') from unnest(${p.keys}::text[]) as k))`)
    .where('created_at', '>', p.notBefore),
);

/** A row if the tenant has disabled the operation; for all tenants if it is the system tenant. */
export const findSwitchedOff = read<{ tenantId: string; operation: string }, { enabled: boolean }>((p) =>
  builder
    .selectFrom('operation_overrides')
    .select('enabled')
    .where('tenant_id', '=', p.tenantId)
    .where('operation_key', '=', p.operation)
    .where('enabled', '=', false),
);

export const listMakers = read<{ tenantId: string }, Maker>((p) =>
  builder
    .selectFrom('connectors')
    .select(['api_key', 'updated_at'])
    .where('tenant_id', '=', p.tenantId)
    .where('enabled', '=', true),
);

/**
 * `rows` is JSON: `[{key, translation, provider, model}]`, keys in hexadecimal. Sorted by key, so that concurrent requests with the
 * same texts cannot deadlock.
 */
export const remember = write<{ tenantId: string; rows: string; at: string }, never>((p) =>
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

/** Number of entries by tenant. */
export const listMemories = read<Record<string, never>, { tenant_id: string; entries: number }>(() =>
  builder
    .selectFrom('translation_memory')
    .select(['tenant_id', sql<number>`count(*)`.as('entries')])
    .groupBy('tenant_id'),
);

/**
 * Deletes expired entries in the order of keys, as in `remember`; entries that are being written are left for the
 * next run.
 */
export const forgetOld = write<{ tenantId: string; before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('translation_memory')
    .where('tenant_id', '=', p.tenantId)
    .where('key', 'in', (db) =>
      db
        .selectFrom('translation_memory')
        .select('key')
        .where('tenant_id', '=', p.tenantId)
        .where('created_at', '<', p.before)
        .orderBy('key')
        .limit(p.max)
        .forUpdate()
        .skipLocked(),
    )
    .returning(sql<number>`1`.as('deleted')),
);

/** Deletes a number of the oldest entries. */
export const forgetExcess = write<{ tenantId: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('translation_memory')
    .where('tenant_id', '=', p.tenantId)
    .where('key', 'in', (db) =>
      db
        .selectFrom('translation_memory')
        .select('key')
        .where('tenant_id', '=', p.tenantId)
        .where('key', 'in', (all) =>
          all
            .selectFrom('translation_memory')
            .select('key')
            .where('tenant_id', '=', p.tenantId)
            .orderBy('created_at')
            .limit(p.max),
        )
        .orderBy('key')
        .forUpdate()
        .skipLocked(),
    )
    .returning(sql<number>`1`.as('deleted')),
);
