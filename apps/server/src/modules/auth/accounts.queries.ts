import { sql } from 'kysely';

import { queryBuilder, statement } from '#core/db/query';
import type { AuthTables } from '#modules/auth/auth.tables';

const builder = queryBuilder<AuthTables>();

export type TenantChoice = { id: string; name: string; domain: string };
export type LoginAccount = { id: string; password_hash: string | null; tenants: TenantChoice[] };

/** The account behind an address with the active tenants it belongs to. */
export const findAccountByEmail = statement<{ email: string }, LoginAccount>((p) =>
  builder
    .selectFrom('accounts')
    .select(['accounts.id', 'accounts.password_hash'])
    .select((db) =>
      db
        .selectFrom('memberships')
        .innerJoin('tenants', 'tenants.id', 'memberships.tenant_id')
        .whereRef('memberships.account_id', '=', 'accounts.id')
        .where('tenants.status', '=', 'active')
        .select(
          sql<
            TenantChoice[]
          >`coalesce(json_agg(json_build_object('id', tenants.id, 'name', tenants.name, 'domain', tenants.domain) order by tenants.name), '[]')`.as(
            'list',
          ),
        )
        .$castTo<{ list: TenantChoice[] }>()
        .as('tenants'),
    )
    .where('accounts.email', '=', p.email)
    .$castTo<LoginAccount>(),
);

export const findPasswordHash = statement<{ accountId: string }, { password_hash: string | null }>((p) =>
  builder.selectFrom('accounts').select('password_hash').where('id', '=', p.accountId),
);

export const insertAccount = statement<{ id: string; email: string; passwordHash: string | null; at: string }, never>(
  (p) =>
    builder.insertInto('accounts').values({
      id: p.id,
      email: p.email,
      password_hash: p.passwordHash,
      password_changed_at: p.at,
      created_at: p.at,
      updated_at: p.at,
    }) as never,
);

/** The id under which the address is known: the given one when it is new, else the existing one. */
export const insertAccountIfNew = statement<
  { id: string; email: string; passwordHash: string | null; at: string },
  { id: string }
>((p) =>
  builder
    .insertInto('accounts')
    .values({
      id: p.id,
      email: p.email,
      password_hash: p.passwordHash,
      password_changed_at: p.at,
      created_at: p.at,
      updated_at: p.at,
    })
    .onConflict((conflict) => conflict.column('email').doUpdateSet({ email: (db) => db.ref('excluded.email') }))
    .returning('id'),
);

export const updatePasswordHash = statement<{ accountId: string; passwordHash: string; at: string }, { id: string }>(
  (p) =>
    builder
      .updateTable('accounts')
      .set({ password_hash: p.passwordHash, password_changed_at: p.at, updated_at: p.at })
      .where('id', '=', p.accountId)
      .returning('id'),
);

export const insertMembership = statement<{ accountId: string; tenantId: string; userId: string }, never>(
  (p) =>
    builder
      .insertInto('memberships')
      .values({ account_id: p.accountId, tenant_id: p.tenantId, user_id: p.userId }) as never,
);

export const listMemberships = statement<{ accountId: string }, { tenant_id: string; user_id: string }>((p) =>
  builder.selectFrom('memberships').select(['tenant_id', 'user_id']).where('account_id', '=', p.accountId),
);

export const insertTenantDomain = statement<{ domain: string; tenantId: string }, never>(
  (p) => builder.insertInto('tenant_domains').values({ domain: p.domain, tenant_id: p.tenantId }) as never,
);

export const insertTenant = statement<
  { id: string; name: string; domain: string; language: string; at: string },
  never
>(
  (p) =>
    builder.insertInto('tenants').values({
      id: p.id,
      name: p.name,
      domain: p.domain,
      status: 'active',
      default_language: p.language,
      languages: sql`array[${p.language}::text]`,
      created_at: p.at,
      updated_at: p.at,
    }) as never,
);

export const insertUser = statement<
  {
    tenantId: string;
    id: string;
    accountId: string;
    email: string;
    displayName: string;
    fullName: string;
    locale: string;
    isTenantAdmin: boolean;
    at: string;
  },
  { id: string }
>((p) =>
  builder
    .insertInto('users')
    .values({
      tenant_id: p.tenantId,
      id: p.id,
      account_id: p.accountId,
      email: p.email,
      display_name: p.displayName,
      full_name: p.fullName,
      locale: p.locale,
      status: 'active',
      is_tenant_admin: p.isTenantAdmin,
      last_login_at: null,
      created_at: p.at,
      updated_at: p.at,
    })
    .returning('id'),
);

/** The text of a reset link depends on the token, so the account decides only whether anything is written. */
export const insertResetToken = statement<
  { hash: Buffer; email: string; at: string; expiresAt: string },
  { account_id: string }
>((p) =>
  builder
    .insertInto('one_time_tokens')
    .columns(['hash', 'purpose', 'account_id', 'payload', 'created_at', 'expires_at'])
    .expression((db) =>
      db
        .selectFrom('accounts')
        .select([
          sql<Buffer>`${p.hash}::bytea`.as('hash'),
          sql<'password_reset'>`'password_reset'`.as('purpose'),
          'accounts.id as account_id',
          sql<Record<string, unknown>>`'{}'::jsonb`.as('payload'),
          sql<string>`${p.at}::timestamptz`.as('created_at'),
          sql<string>`${p.expiresAt}::timestamptz`.as('expires_at'),
        ])
        .where('accounts.email', '=', p.email),
    )
    .returning('account_id'),
);

export const insertOneTimeToken = statement<
  {
    hash: Buffer;
    purpose: 'tenant_selection' | 'password_reset';
    accountId: string;
    payload: Record<string, unknown>;
    at: string;
    expiresAt: string;
  },
  never
>(
  (p) =>
    builder.insertInto('one_time_tokens').values({
      hash: p.hash,
      purpose: p.purpose,
      account_id: p.accountId,
      payload: p.payload,
      created_at: p.at,
      expires_at: p.expiresAt,
      used_at: null,
    }) as never,
);

export const findOneTimeToken = statement<
  { hash: Buffer; purpose: 'password_reset'; now: string },
  { account_id: string }
>((p) =>
  builder
    .selectFrom('one_time_tokens')
    .select('account_id')
    .where('hash', '=', p.hash)
    .where('purpose', '=', p.purpose)
    .where('used_at', 'is', null)
    .where('expires_at', '>', p.now),
);

/** Uses a token up: of any number of parallel uses exactly one gets the row. */
export const useOneTimeToken = statement<
  { hash: Buffer; purpose: 'password_reset' | 'tenant_selection'; now: string },
  { account_id: string; payload: Record<string, unknown> }
>((p) =>
  builder
    .updateTable('one_time_tokens')
    .set({ used_at: p.now })
    .where('hash', '=', p.hash)
    .where('purpose', '=', p.purpose)
    .where('used_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returning(['account_id', 'payload']),
);

export const revokeOneTimeTokens = statement<{ accountId: string; purpose: 'password_reset'; now: string }, never>(
  (p) =>
    builder
      .updateTable('one_time_tokens')
      .set({ used_at: p.now })
      .where('account_id', '=', p.accountId)
      .where('purpose', '=', p.purpose)
      .where('used_at', 'is', null) as never,
);

export const deleteExpiredOneTimeTokens = statement<{ before: string }, never>(
  (p) => builder.deleteFrom('one_time_tokens').where('expires_at', '<', p.before) as never,
);
