import { sql } from 'kysely';

import { queryBuilder, statement } from '#core/db/query';
import type { AuthTables, OneTimePurpose } from '#modules/auth/auth.tables';

const builder = queryBuilder<AuthTables>();

export type TenantChoice = { id: string; name: string; domain: string };
export type LoginAccount = {
  id: string;
  password_hash: string | null;
  password_changed_at: string | null;
  tenants: TenantChoice[];
};

/** The account behind an address with the active tenants it belongs to. */
export const findAccountByEmail = statement<{ email: string }, LoginAccount>((p) =>
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

export const findPassword = statement<
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

export const findAccount = statement<{ accountId: string }, AccountState>((p) =>
  builder.selectFrom('accounts').select(accountState).where('id', '=', p.accountId),
);

/** What is known to be the person's: the address, and a number that a code of a second factor came back from. */
export const findAccountProofs = statement<{ accountId: string }, { email: boolean; phone: boolean }>((p) =>
  builder
    .selectFrom('accounts')
    .select([
      sql<boolean>`email_verified_at is not null`.as('email'),
      sql<boolean>`exists (select 1 from two_factor_methods m where m.account_id = accounts.id
        and m.method in ('sms', 'chatapp') and m.enabled_at is not null)`.as('phone'),
    ])
    .where('id', '=', p.accountId),
);

export const findAccountByAddress = statement<{ email: string }, AccountState>((p) =>
  builder.selectFrom('accounts').select(accountState).where('email', '=', p.email),
);

type NewAccount = {
  id: string;
  email: string;
  passwordHash: string | null;
  /** When somebody vouched for the address; null until a mailed link comes back. */
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

export const insertAccount = statement<NewAccount, never>((p) =>
  builder.insertInto('accounts').values(accountValues(p)),
);

/** The account of the address, locked: the given one when the address is new, else the existing one. */
export const insertAccountIfNew = statement<NewAccount, AccountState>((p) =>
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

export const markEmailVerified = statement<{ accountId: string; at: string }, never>((p) =>
  builder
    .updateTable('accounts')
    .set({ email_verified_at: p.at })
    .where('id', '=', p.accountId)
    .where('email_verified_at', 'is', null),
);

/** No row when the password is not the one that was proven any more (of `provenAt`; null when none was asked for). */
export const updatePasswordHash = statement<
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

/** The same password under other settings: no change that anybody should see. */
export const storePasswordHash = statement<{ accountId: string; passwordHash: string }, never>((p) =>
  builder.updateTable('accounts').set({ password_hash: p.passwordHash }).where('id', '=', p.accountId),
);

/**
 * Makes the logins and password changes of one account wait for each other. No row when the password is not
 * the one that was proven any more (of `provenAt`; null when none was asked for).
 */
export const lockAccount = statement<{ accountId: string; provenAt: string | null }, { id: string }>((p) =>
  builder
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', p.accountId)
    .where(sql<boolean>`(${p.provenAt}::timestamptz is null or password_changed_at = ${p.provenAt}::timestamptz)`)
    .forNoKeyUpdate(),
);

/** The account as it is, held for the transaction. */
export const lockAccountState = statement<{ accountId: string }, AccountState>((p) =>
  builder.selectFrom('accounts').select(accountState).where('id', '=', p.accountId).forNoKeyUpdate(),
);

export const insertMembership = statement<{ accountId: string; tenantId: string; userId: string }, never>((p) =>
  builder.insertInto('memberships').values({ account_id: p.accountId, tenant_id: p.tenantId, user_id: p.userId }),
);

/** In one order for everybody, as what is written into each of the tenants locks the chain of its trail. */
export const listMemberships = statement<{ accountId: string }, { tenant_id: string; user_id: string }>((p) =>
  builder
    .selectFrom('memberships')
    .select(['tenant_id', 'user_id'])
    .where('account_id', '=', p.accountId)
    .orderBy('tenant_id'),
);

export const insertTenantDomain = statement<{ domain: string; tenantId: string }, never>((p) =>
  builder.insertInto('tenant_domains').values({ domain: p.domain, tenant_id: p.tenantId }),
);

export const insertTenant = statement<
  { id: string; name: string; domain: string; language: string; at: string },
  never
>((p) =>
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

export const insertOneTimeToken = statement<
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

export const findOneTimeToken = statement<
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

/** A mailed invitation with its account, both as they are at one moment: joining changes what is asked of the account. */
export const findInvitation = statement<
  { hash: Buffer; now: string },
  AccountState & { payload: Record<string, unknown> }
>((p) =>
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

/** Uses a token up: of any number of parallel uses exactly one gets the row. */
export const useOneTimeToken = statement<
  { hash: Buffer; purpose: OneTimePurpose; now: string },
  { account_id: string }
>((p) =>
  builder
    .updateTable('one_time_tokens')
    .set({ used_at: p.now })
    .where('hash', '=', p.hash)
    .where('purpose', '=', p.purpose)
    .where('used_at', 'is', null)
    .where('expires_at', '>', p.now)
    .returning('account_id'),
);

/** Whatever the old password or an older mail could still be turned into; what only proves the address, or invites, stays. */
export const revokeOneTimeTokens = statement<{ accountId: string; now: string }, never>((p) =>
  builder
    .updateTable('one_time_tokens')
    .set({ used_at: p.now })
    .where('account_id', '=', p.accountId)
    .where('purpose', 'not in', ['invitation', 'email_verification'])
    .where('used_at', 'is', null),
);

/** Housekeeping: tokens that are long dead. */
export const deleteExpiredOneTimeTokens = statement<{ before: string; most: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('one_time_tokens')
    .where('hash', 'in', (db) =>
      db.selectFrom('one_time_tokens').select('hash').where('expires_at', '<', p.before).limit(p.most),
    )
    .returning(sql<number>`1`.as('deleted')),
);

export type AppAccountPlace = { tenant_id: string; app_account_id: string };

/** Which app account logs in with the address, and where. */
export const findAppAccountPlace = statement<{ email: string }, AppAccountPlace>((p) =>
  builder.selectFrom('app_account_directory').select(['tenant_id', 'app_account_id']).where('email', '=', p.email),
);

export type AppAccountLogin = Pick<
  AuthTables['app_accounts'],
  'id' | 'tenant_id' | 'name' | 'email' | 'permissions' | 'password_hash' | 'password_changed_at'
> & { tenant_name: string };

export const findAppAccountLogin = statement<{ tenantId: string; id: string; now: string }, AppAccountLogin>((p) =>
  builder
    .selectFrom('app_accounts')
    .innerJoin('tenants', 'tenants.id', 'app_accounts.tenant_id')
    .select([
      'app_accounts.id',
      'app_accounts.tenant_id',
      'app_accounts.name',
      'app_accounts.email',
      'app_accounts.permissions',
      'app_accounts.password_hash',
      'app_accounts.password_changed_at',
      'tenants.name as tenant_name',
    ])
    .where('app_accounts.tenant_id', '=', p.tenantId)
    .where('tenants.id', '=', p.tenantId)
    .where('app_accounts.id', '=', p.id)
    .where('app_accounts.status', '=', 'active')
    .where(sql<boolean>`(app_accounts.expires_at is null or app_accounts.expires_at > ${p.now}::timestamptz)`)
    .where('tenants.status', '=', 'active'),
);

/** No row when the password is not the one that was proven any more. */
export const lockAppAccountPassword = statement<{ tenantId: string; id: string; provenAt: string }, { id: string }>(
  (p) =>
    builder
      .selectFrom('app_accounts')
      .select('id')
      .where('tenant_id', '=', p.tenantId)
      .where('id', '=', p.id)
      .where('password_changed_at', '=', p.provenAt)
      .forNoKeyUpdate(),
);

/** The same password under other settings: no change that anybody should see. */
export const storeAppAccountPasswordHash = statement<{ tenantId: string; id: string; passwordHash: string }, never>(
  (p) =>
    builder
      .updateTable('app_accounts')
      .set({ password_hash: p.passwordHash })
      .where('tenant_id', '=', p.tenantId)
      .where('id', '=', p.id),
);
