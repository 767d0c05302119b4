import { sql } from 'kysely';

import { queryBuilder, read, write } from '#core/data/db/query';
import { typed, flag, lockById, rowById, tenantTable, text, uuid, type RowOf } from '#core/data/db/rows';

type Delivered = 'sms' | 'email' | 'chatapp';

type Tables = {
  two_factor_methods: {
    account_id: string;
    method: 'totp' | Delivered;
    secret: string | null;
    delivery_target: string | null;
    enrolled_in: string | null;
    last_step: number | null;
    enabled_at: string | null;
    enrolment_expires_at: string | null;
    last_used_at: string | null;
    created_at: string;
  };
  two_factor_codes: {
    id: string;
    account_id: string;
    method: Delivered;
    session_id: string;
    code_hash: string;
    account_wide: boolean;
    created_at: string;
    expires_at: string;
    used_at: string | null;
  };
  two_factor_backup_codes: { account_id: string; code_hash: string; created_at: string; used_at: string | null };
  sessions: {
    tenant_id: string;
    id: string;
    assurance: number;
    assurance_account_wide: boolean;
    ended_at: string | null;
  };
  tenants: { id: string; settings: Record<string, unknown> };
  users: MemberRow & { tenant_id: string; phone: string | null };
  groups: { tenant_id: string; id: string; permissions: string[] };
  group_members: { tenant_id: string; group_id: string; user_id: string };
};

export type MethodRow = Omit<Tables['two_factor_methods'], 'account_id' | 'created_at'>;

const members = tenantTable(
  'users',
  {
    id: uuid,
    account_id: uuid,
    email: text,
    status: typed<'invited' | 'active' | 'suspended' | 'deleted'>(),
    is_tenant_admin: flag,
  },
  ['status', '<>', 'deleted'],
);
export type MemberRow = RowOf<typeof members>;

const builder = queryBuilder<Tables>();

// ---------------------------------------------------------------- state

/** Includes pending enrolments. */
export const listMethods = read<{ accountId: string }, MethodRow>((p) =>
  builder
    .selectFrom('two_factor_methods')
    .select([
      'method',
      'secret',
      'delivery_target',
      'enrolled_in',
      'last_step',
      'enabled_at',
      'enrolment_expires_at',
      'last_used_at',
    ])
    .where('account_id', '=', p.accountId)
    .orderBy('enabled_at')
    .orderBy('method'),
);

/** Raises the assurance of a session after its second factor; an account-wide assurance remains. */
export const assureSession = write<{ tenantId: string; sessionId: string; accountWide: boolean }, { id: string }>((p) =>
  builder
    .updateTable('sessions')
    .set({
      assurance: 2,
      assurance_account_wide: sql<boolean>`${p.accountWide}::boolean or (assurance = 2 and assurance_account_wide)`,
    })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.sessionId)
    .where('ended_at', 'is', null)
    .returning('id'),
);

export const findRequirement = read<{ tenantId: string }, { is_required: boolean }>((p) =>
  builder
    .selectFrom('tenants')
    .select(sql<boolean>`coalesce(settings ->> 'requires2fa' = 'true', false)`.as('is_required'))
    .where('id', '=', p.tenantId),
);

export const findPhone = read<{ tenantId: string; userId: string }, { phone: string | null }>((p) =>
  builder.selectFrom('users').select('phone').where('tenant_id', '=', p.tenantId).where('id', '=', p.userId),
);

// ---------------------------------------------------------------- methods

/** Starts an enrolment and replaces an older pending one. No row if the method is already enabled. */
export const upsertPendingMethod = write<
  {
    accountId: string;
    method: MethodRow['method'];
    secret: string | null;
    deliveryTarget: string | null;
    enrolledIn: string;
    at: string;
    expiresAt: string;
  },
  { method: string }
>((p) =>
  builder
    .insertInto('two_factor_methods')
    .values({
      account_id: p.accountId,
      method: p.method,
      secret: p.secret,
      delivery_target: p.deliveryTarget,
      enrolled_in: p.enrolledIn,
      last_step: null,
      enabled_at: null,
      enrolment_expires_at: p.expiresAt,
      last_used_at: null,
      created_at: p.at,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'method'])
        .doUpdateSet({
          secret: p.secret,
          delivery_target: p.deliveryTarget,
          enrolled_in: p.enrolledIn,
          last_step: null,
          enrolment_expires_at: p.expiresAt,
          created_at: p.at,
        })
        .where('two_factor_methods.enabled_at', 'is', null),
    )
    .returning('method'),
);

export const activateMethod = write<{ accountId: string; method: string; at: string }, { method: string }>((p) =>
  builder
    .updateTable('two_factor_methods')
    .set({ enabled_at: p.at, enrolment_expires_at: null })
    .where('account_id', '=', p.accountId)
    .where('method', '=', sql<MethodRow['method']>`${p.method}`)
    .where('enabled_at', 'is', null)
    .returning('method'),
);

/** Accepts a time step once, and no earlier one: exactly one of several concurrent calls gets the row. */
export const acceptStep = write<{ accountId: string; step: number }, { method: string }>((p) =>
  builder
    .updateTable('two_factor_methods')
    .set({ last_step: p.step })
    .where('account_id', '=', p.accountId)
    .where('method', '=', 'totp')
    .where(sql<boolean>`(last_step is null or last_step < ${p.step}::bigint)`)
    .returning('method'),
);

export const touchMethod = write<{ accountId: string; method: string; at: string }, never>((p) =>
  builder
    .updateTable('two_factor_methods')
    .set({ last_used_at: p.at })
    .where('account_id', '=', p.accountId)
    .where('method', '=', sql<MethodRow['method']>`${p.method}`),
);

export const deleteMethod = write<{ accountId: string; method: string }, never>((p) =>
  builder
    .deleteFrom('two_factor_methods')
    .where('account_id', '=', p.accountId)
    .where('method', '=', sql<MethodRow['method']>`${p.method}`),
);

// ---------------------------------------------------------------- delivered codes

export const insertCode = write<
  {
    id: string;
    accountId: string;
    method: Delivered;
    sessionId: string;
    codeHash: string;
    accountWide: boolean;
    at: string;
    expiresAt: string;
  },
  never
>((p) =>
  builder.insertInto('two_factor_codes').values({
    id: p.id,
    account_id: p.accountId,
    method: p.method,
    session_id: p.sessionId,
    code_hash: p.codeHash,
    account_wide: p.accountWide,
    created_at: p.at,
    expires_at: p.expiresAt,
    used_at: null,
  }),
);

/** Invalidates the codes of all sessions that were sent to the earlier target of the method; deletes expired ones. */
export const deleteCodesOfMethod = write<{ accountId: string; method: string; at: string }, { id: string }>((p) =>
  builder
    .deleteFrom('two_factor_codes')
    .where('account_id', '=', p.accountId)
    .where(sql<boolean>`(method = ${p.method} or expires_at <= ${p.at}::timestamptz)`)
    .returning('id'),
);

/** Invalidates earlier codes of one session; deletes expired ones. */
export const deleteCodesOfSession = write<
  { accountId: string; method: string; sessionId: string; at: string },
  { id: string }
>((p) =>
  builder
    .deleteFrom('two_factor_codes')
    .where('account_id', '=', p.accountId)
    .where(
      sql<boolean>`((method = ${p.method} and session_id = ${p.sessionId}::uuid) or expires_at <= ${p.at}::timestamptz)`,
    )
    .returning('id'),
);

/** The latest code that was sent to the session; it may be used or expired. */
export const findNewestCode = read<{ accountId: string; method: string; sessionId: string }, { id: string }>((p) =>
  builder
    .selectFrom('two_factor_codes')
    .select('id')
    .where('account_id', '=', p.accountId)
    .where('method', '=', sql<Delivered>`${p.method}`)
    .where('session_id', '=', p.sessionId)
    .orderBy('id', 'desc')
    .limit(1),
);

/** Consumes a delivered code: exactly one of several concurrent calls gets the row. */
export const consumeCode = write<{ id: string; codeHash: string; at: string }, { account_wide: boolean }>((p) =>
  builder
    .updateTable('two_factor_codes')
    .set({ used_at: p.at })
    .where('id', '=', p.id)
    .where('code_hash', '=', p.codeHash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', p.at)
    .returning('account_wide'),
);

// ---------------------------------------------------------------- backup codes

export const insertBackupCodes = write<{ accountId: string; codeHashes: readonly string[]; at: string }, never>((p) =>
  builder
    .insertInto('two_factor_backup_codes')
    .columns(['account_id', 'code_hash', 'created_at'])
    .expression((db) =>
      db
        .selectFrom(sql<{ hash: string }>`unnest(${p.codeHashes}::text[])`.as<'code'>(sql`code(hash)`))
        .select([
          sql<string>`${p.accountId}::uuid`.as('account_id'),
          'code.hash',
          sql<string>`${p.at}::timestamptz`.as('created_at'),
        ]),
    ),
);

export const deleteBackupCodes = write<{ accountId: string }, never>((p) =>
  builder.deleteFrom('two_factor_backup_codes').where('account_id', '=', p.accountId),
);

/** Consumes a backup code: exactly one of several concurrent calls gets the row. */
export const consumeBackupCode = write<{ accountId: string; codeHash: string; at: string }, { account_id: string }>(
  (p) =>
    builder
      .updateTable('two_factor_backup_codes')
      .set({ used_at: p.at })
      .where('account_id', '=', p.accountId)
      .where('code_hash', '=', p.codeHash)
      .where('used_at', 'is', null)
      .returning('account_id'),
);

export const countBackupCodes = read<{ accountId: string }, { remaining: number }>((p) =>
  builder
    .selectFrom('two_factor_backup_codes')
    .select(sql<number>`count(*)`.as('remaining'))
    .where('account_id', '=', p.accountId)
    .where('used_at', 'is', null),
);

// ---------------------------------------------------------------- users

export const findMember = rowById(members);

/** The reset changes exactly what was authorised. */
export const lockMember = lockById(members, 'for no key update');
