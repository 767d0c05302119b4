import { sql } from 'kysely';

import { lock, queryBuilder, read, write } from '#core/data/db/query';
import type { AuthTables, OneTimePurpose } from '#modules/auth/auth.tables';

const builder = queryBuilder<AuthTables>();

export type TenantChoice = { id: string; name: string; domain: string };
export type LoginAccount = {
  id: string;
  password_hash: string | null;
  password_changed_at: string | null;
  tenants: TenantChoice[];
};

/** The account of an address, with its active tenants. */
export const findAccountByEmail = read<{ email: string }, LoginAccount>((p) =>
  builder
    .selectFrom('accounts')
    .select(['accounts.id', 'accounts.password_hash', 'accounts.password_changed_at'])
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

export const findPassword = read<
  { accountId: string },
  { password_hash: string | null; password_changed_at: string | null }
>((p) => builder.selectFrom('accounts').select(['password_hash', 'password_changed_at']).where('id', '=', p.accountId));

export type AccountState = { id: string; email: string; has_password: boolean; email_verified_at: string | null };

const accountState = [
  'id',
  'email',
  'email_verified_at',
  sql<boolean>`password_hash is not null`.as('has_password'),
] as const;

export const findAccount = read<{ accountId: string }, AccountState>((p) =>
  builder.selectFrom('accounts').select(accountState).where('id', '=', p.accountId),
);

/** Verified contact data of the account: the address, and a number that returned a code of a second factor. */
export const findAccountProofs = read<{ accountId: string }, { email: boolean; phone: boolean }>((p) =>
  builder
    .selectFrom('accounts')
    .select([
      sql<boolean>`email_verified_at is not null`.as('email'),
      sql<boolean>`exists (select 1 from two_factor_methods m where m.account_id = accounts.id
        and m.method in ('sms', 'chatapp') and m.enabled_at is not null)`.as('phone'),
    ])
    .where('id', '=', p.accountId),
);

export const findAccountByAddress = read<{ email: string }, AccountState>((p) =>
  builder.selectFrom('accounts').select(accountState).where('email', '=', p.email),
);

type NewAccount = {
  id: string;
  email: string;
  passwordHash: string | null;
  /** Time of the verification of the address; null until a mailed link is used. */
  emailVerifiedAt: string | null;
  at: string;
};

function accountValues(p: NewAccount) {
  return {
    id: p.id,
    email: p.email,
    password_hash: p.passwordHash,
    password_changed_at: p.at,
    email_verified_at: p.emailVerifiedAt,
    created_at: p.at,
    updated_at: p.at,
  };
}

export const insertAccount = write<NewAccount, never>((p) => builder.insertInto('accounts').values(accountValues(p)));

/** Locks the account of the address: the given one if the address is new, otherwise the existing one. */
export const insertAccountIfNew = write<NewAccount, AccountState>((p) =>
  builder
    .insertInto('accounts')
    .values(accountValues(p))
    .onConflict((conflict) => conflict.column('email').doUpdateSet({ email: (db) => db.ref('excluded.email') }))
    .returning([
      'id',
      'email',
      'email_verified_at',
      sql<boolean>`accounts.password_hash is not null`.as('has_password'),
    ]),
);

export const markEmailVerified = write<{ accountId: string; at: string }, never>((p) =>
  builder
    .updateTable('accounts')
    .set({ email_verified_at: p.at })
    .where('id', '=', p.accountId)
    .where('email_verified_at', 'is', null),
);

/** No row if the password has changed since it was verified (at `provenAt`; null if no password was required). */
export const updatePasswordHash = write<
  { accountId: string; passwordHash: string; provenAt: string | null; at: string },
  { id: string }
>((p) =>
  builder
    .updateTable('accounts')
    .set({ password_hash: p.passwordHash, password_changed_at: p.at, updated_at: p.at })
    .where('id', '=', p.accountId)
    .where(sql<boolean>`(${p.provenAt}::timestamptz is null or password_changed_at = ${p.provenAt}::timestamptz)`)
    .returning('id'),
);

/** Stores the same password with other hash settings; users and the audit trail do not see it as a change. */
export const storePasswordHash = write<{ accountId: string; passwordHash: string }, never>((p) =>
  builder.updateTable('accounts').set({ password_hash: p.passwordHash }).where('id', '=', p.accountId),
);

/**
 * Serialises the logins and password changes of one account. No row if the password has changed since it was verified
 * (at `provenAt`; null if no password was required).
 */
export const lockAccount = lock<{ accountId: string; provenAt: string | null }, { id: string }>((p) =>
  builder
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', p.accountId)
    .where(sql<boolean>`(${p.provenAt}::timestamptz is null or password_changed_at = ${p.provenAt}::timestamptz)`)
    .forNoKeyUpdate(),
);

/** Locks the account for the transaction. */
export const lockAccountState = lock<{ accountId: string }, AccountState>((p) =>
  builder.selectFrom('accounts').select(accountState).where('id', '=', p.accountId).forNoKeyUpdate(),
);

export const insertMembership = write<{ accountId: string; tenantId: string; userId: string }, never>((p) =>
  builder.insertInto('memberships').values({ account_id: p.accountId, tenant_id: p.tenantId, user_id: p.userId }),
);

/** Always in the same order, because a write into each tenant locks the hash chain of its audit trail. */
export const listMemberships = read<{ accountId: string }, { tenant_id: string; user_id: string }>((p) =>
  builder
    .selectFrom('memberships')
    .select(['tenant_id', 'user_id'])
    .where('account_id', '=', p.accountId)
    .orderBy('tenant_id'),
);

export const insertTenantDomain = write<{ domain: string; tenantId: string }, never>((p) =>
  builder.insertInto('tenant_domains').values({ domain: p.domain, tenant_id: p.tenantId }),
);

export const insertTenant = write<{ id: string; name: string; domain: string; language: string; at: string }, never>(
  (p) =>
    builder.insertInto('tenants').values({
      id: p.id,
      name: p.name,
      domain: p.domain,
      status: 'active',
      default_language: p.language,
      languages: sql`array[${p.language}::text]`,
      settings: sql`'{}'::jsonb`,
      created_at: p.at,
      updated_at: p.at,
    }),
);

export const insertUser = write<
  {
    tenantId: string;
    id: string;
    accountId: string;
    email: string;
    displayName: string;
    fullName: string;
    locale: string;
    isTenantAdmin: boolean;
    status: 'active' | 'invited';
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
      status: p.status,
      is_tenant_admin: p.isTenantAdmin,
      last_login_at: null,
      created_at: p.at,
      updated_at: p.at,
    })
    .returning('id'),
);

export const insertOneTimeToken = write<
  {
    hash: Buffer;
    purpose: OneTimePurpose;
    accountId: string;
    payload: Record<string, unknown>;
    at: string;
    expiresAt: string;
  },
  never
>((p) =>
  builder.insertInto('one_time_tokens').values({
    hash: p.hash,
    purpose: p.purpose,
    account_id: p.accountId,
    payload: p.payload,
    created_at: p.at,
    expires_at: p.expiresAt,
    used_at: null,
  }),
);

export const findOneTimeToken = read<
  { hash: Buffer; purposes: readonly OneTimePurpose[]; now: string },
  { account_id: string; purpose: OneTimePurpose; payload: Record<string, unknown> }
>((p) =>
  builder
    .selectFrom('one_time_tokens')
    .select(['account_id', 'purpose', 'payload'])
    .where('hash', '=', p.hash)
    .where(sql<boolean>`purpose = any(${p.purposes}::text[])`)
    .where('used_at', 'is', null)
    .where('expires_at', '>', p.now),
);

/**
 * A mailed invitation with its account, both read at the same time: joining changes the requirements of the account.
 */
export const findInvitation = read<{ hash: Buffer; now: string }, AccountState & { payload: Record<string, unknown> }>(
  (p) =>
    builder
      .selectFrom('accounts')
      .innerJoin('one_time_tokens', 'one_time_tokens.account_id', 'accounts.id')
      .select(['accounts.id', 'email', 'email_verified_at', 'payload'])
      .select(sql<boolean>`password_hash is not null`.as('has_password'))
      .where('hash', '=', p.hash)
      .where('purpose', '=', 'invitation')
      .where('used_at', 'is', null)
      .where('expires_at', '>', p.now),
);

/** Consumes a token: exactly one of several concurrent calls gets the row. */
export const useOneTimeToken = write<{ hash: Buffer; purpose: OneTimePurpose; now: string }, { account_id: string }>(
  (p) =>
    builder
      .updateTable('one_time_tokens')
      .set({ used_at: p.now })
      .where('hash', '=', p.hash)
      .where('purpose', '=', p.purpose)
      .where('used_at', 'is', null)
      .where('expires_at', '>', p.now)
      .returning('account_id'),
);

/**
 * Deletes everything that the old password or older mails give access to; tokens that verify or disown the address, and
 * invitations, remain.
 */
export const revokeOneTimeTokens = write<{ accountId: string; now: string }, never>((p) =>
  builder
    .updateTable('one_time_tokens')
    .set({ used_at: p.now })
    .where('account_id', '=', p.accountId)
    .where('purpose', 'not in', ['invitation', 'email_verification', 'account_disowning'])
    .where('used_at', 'is', null),
);

/** The mails of which every token is used, superseded by a newer one, or needless because the address is verified. */
export const listVoidMails = read<{ accountId: string; now: string }, { mail_id: string }>((p) =>
  builder
    .selectFrom('one_time_tokens as token')
    .innerJoin('accounts', 'accounts.id', 'token.account_id')
    .select(sql<string>`payload ->> 'mailId'`.as('mail_id'))
    .where('account_id', '=', p.accountId)
    .where('expires_at', '>', p.now)
    .where(sql<boolean>`payload ->> 'mailId' is not null`)
    .groupBy('mail_id')
    .having(
      sql<boolean>`bool_and(used_at is not null
        or purpose in ('email_verification', 'account_disowning') and email_verified_at is not null
        or purpose <> 'invitation' and exists (select 1 from one_time_tokens newer where newer.account_id = token.account_id
          and newer.purpose = token.purpose and newer.created_at > token.created_at))`,
    ),
);

/** Deletes expired and used tokens after their retention period. */
export const deleteExpiredOneTimeTokens = write<{ before: string; limit: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('one_time_tokens')
    .where('hash', 'in', (db) =>
      db.selectFrom('one_time_tokens').select('hash').where('expires_at', '<', p.before).limit(p.limit),
    )
    .returning(sql<number>`1`.as('deleted')),
);

/** Whether the account is a user of the tenant, with any status. */
export const findMembership = read<{ accountId: string; tenantId: string }, { user_id: string }>((p) =>
  builder
    .selectFrom('memberships')
    .select('user_id')
    .where('account_id', '=', p.accountId)
    .where('tenant_id', '=', p.tenantId),
);

export type AppAccountLogin = Pick<
  AuthTables['app_accounts'],
  'id' | 'tenant_id' | 'name' | 'email' | 'permissions' | 'password_hash' | 'password_changed_at'
> & { tenant_name: string };

/** The app account of an address in the tenant; without a password hash if it may not log in. */
export const findAppAccountLogin = read<{ tenantId: string; email: string; now: string }, AppAccountLogin>((p) =>
  builder
    .selectFrom('app_account_directory')
    .innerJoin('app_accounts', (join) =>
      join
        .onRef('app_accounts.tenant_id', '=', 'app_account_directory.tenant_id')
        .onRef('app_accounts.id', '=', 'app_account_directory.app_account_id'),
    )
    .innerJoin('tenants', 'tenants.id', 'app_accounts.tenant_id')
    .select([
      'app_accounts.id',
      'app_accounts.tenant_id',
      'app_accounts.name',
      'app_accounts.email',
      'app_accounts.permissions',
      'app_accounts.password_changed_at',
      'tenants.name as tenant_name',
    ])
    .select(
      sql<string | null>`case when app_accounts.status = 'active' and tenants.status = 'active'
        and (app_accounts.expires_at is null or app_accounts.expires_at > ${p.now}::timestamptz)
        then app_accounts.password_hash end`.as('password_hash'),
    )
    .where('app_account_directory.tenant_id', '=', p.tenantId)
    .where('app_account_directory.email', '=', p.email)
    .where('app_accounts.tenant_id', '=', p.tenantId)
    .where('tenants.id', '=', p.tenantId),
);

/** No row if the password has changed since it was verified. */
export const lockAppAccountPassword = lock<{ tenantId: string; id: string; provenAt: string }, { id: string }>((p) =>
  builder
    .selectFrom('app_accounts')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('password_changed_at', '=', p.provenAt)
    .forNoKeyUpdate(),
);

/** Stores the same password with other hash settings; users and the audit trail do not see it as a change. */
export const storeAppAccountPasswordHash = write<{ tenantId: string; id: string; passwordHash: string }, never>((p) =>
  builder
    .updateTable('app_accounts')
    .set({ password_hash: p.passwordHash })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);
