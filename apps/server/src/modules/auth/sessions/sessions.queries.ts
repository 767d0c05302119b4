import { sql } from 'kysely';

import { lock, queryBuilder, read, write } from '#core/data/db/query';
import type { AuthTables } from '#modules/auth/auth.tables';

const builder = queryBuilder<AuthTables>();

export type SessionProfile = {
  user_id: string;
  email: string;
  display_name: string;
  full_name: string;
  locale: string;
  is_tenant_admin: boolean;
  tenant_id: string;
  tenant_name: string;
  groups: { id: string; name: string; permissions: string[] }[];
};

type NewSession = {
  tenantId: string;
  sessionId: string;
  accountId: string;
  remembered: boolean;
  isAppAccount: boolean;
  assurance: 1 | 2;
  assuranceAccountWide: boolean;
  accountWide: boolean;
  ip: string;
  userAgent: string | null;
  at: string;
  idleExpiresAt: string;
  expiresAt: string;
};

const newSessionColumns = [
  'tenant_id',
  'id',
  'user_id',
  'account_id',
  'remembered',
  'is_app_account',
  'assurance',
  'assurance_account_wide',
  'account_wide',
  'ip_address',
  'user_agent',
  'created_at',
  'last_used_at',
  'idle_expires_at',
  'expires_at',
] as const;

/** Columns of a new session, in order, after the columns of its owner. */
function sessionFacts(p: NewSession) {
  return [
    sql<boolean>`${p.remembered}::boolean`.as('remembered'),
    sql<boolean>`${p.isAppAccount}::boolean`.as('is_app_account'),
    sql<number>`${p.assurance}::smallint`.as('assurance'),
    sql<boolean>`${p.assuranceAccountWide}::boolean`.as('assurance_account_wide'),
    sql<boolean>`${p.accountWide}::boolean`.as('account_wide'),
    sql<string>`${p.ip}::text`.as('ip_address'),
    sql<string>`${p.userAgent}::text`.as('user_agent'),
    sql<string>`${p.at}::timestamptz`.as('created_at'),
    sql<string>`${p.at}::timestamptz`.as('last_used_at'),
    sql<string>`${p.idleExpiresAt}::timestamptz`.as('idle_expires_at'),
    sql<string>`${p.expiresAt}::timestamptz`.as('expires_at'),
  ] as const;
}

/** Inserts nothing unless the account is an active user of the tenant. */
export const insertSession = write<NewSession, { user_id: string }>((p) =>
  builder
    .insertInto('sessions')
    .columns(newSessionColumns)
    .expression((db) =>
      db
        .selectFrom('users')
        .select([
          'users.tenant_id',
          sql<string>`${p.sessionId}::uuid`.as('id'),
          'users.id as user_id',
          'users.account_id',
        ])
        .select(sessionFacts(p))
        .where('users.tenant_id', '=', p.tenantId)
        .where('users.account_id', '=', p.accountId)
        .where('users.status', '=', 'active'),
    )
    .returning('user_id'),
);

/** The same for an app account, whose id is used for user and account. */
export const insertAppAccountSession = write<NewSession, { user_id: string }>((p) =>
  builder
    .insertInto('sessions')
    .columns(newSessionColumns)
    .expression((db) =>
      db
        .selectFrom('app_accounts')
        .select(['tenant_id', sql<string>`${p.sessionId}::uuid`.as('id'), 'id as user_id', 'id as account_id'])
        .select(sessionFacts(p))
        .where('tenant_id', '=', p.tenantId)
        .where('id', '=', p.accountId)
        .where('status', '=', 'active')
        .where(sql<boolean>`(expires_at is null or expires_at > ${p.at}::timestamptz)`),
    )
    .returning('user_id'),
);

export const findSessionProfile = read<{ tenantId: string; accountId: string }, SessionProfile>((p) =>
  builder
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select([
      'users.id as user_id',
      'users.email',
      'users.display_name',
      'users.full_name',
      'users.locale',
      'users.is_tenant_admin',
      'users.tenant_id',
      'tenants.name as tenant_name',
    ])
    .select(
      sql<SessionProfile['groups']>`coalesce((
        select json_agg(json_build_object('id', g.id, 'name', g.name, 'permissions', g.permissions) order by g.name)
        from group_members m join groups g on g.tenant_id = m.tenant_id and g.id = m.group_id
        where m.tenant_id = ${p.tenantId} and m.user_id = users.id), '[]')`.as('groups'),
    )
    .where('users.tenant_id', '=', p.tenantId)
    .where('users.account_id', '=', p.accountId)
    .where('users.status', '=', 'active')
    .where('tenants.status', '=', 'active'),
);

/** Locks the user for the transaction: an earlier suspension refuses the session, a later one revokes it. */
export const touchLogin = write<{ tenantId: string; accountId: string; at: string }, { id: string }>((p) =>
  builder
    .updateTable('users')
    .set({ last_login_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('account_id', '=', p.accountId)
    .where('status', '=', 'active')
    .returning('id'),
);

/** The same for an app account. */
export const lockAppAccount = lock<{ tenantId: string; accountId: string }, { id: string }>((p) =>
  builder
    .selectFrom('app_accounts')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.accountId)
    .where('status', '=', 'active')
    .forNoKeyUpdate(),
);

/**
 * Ends the oldest active sessions beyond the newest `keep` of the same assurance level, never the given one. Sessions with
 * only a password do not evict sessions with a second factor.
 */
export const endOldestSessions = write<
  { tenantId: string; accountId: string; sessionId: string; assurance: 1 | 2; keep: number; at: string },
  { id: string }
>((p) =>
  builder
    .updateTable('sessions')
    .set({ ended_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', 'in', (db) =>
      db
        .selectFrom('sessions')
        .select('id')
        .where('tenant_id', '=', p.tenantId)
        .where('account_id', '=', p.accountId)
        .where('assurance', '=', p.assurance)
        .where('ended_at', 'is', null)
        .where('expires_at', '>', p.at)
        .where('idle_expires_at', '>', p.at)
        .orderBy(sql`id = ${p.sessionId}::uuid`, 'desc')
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .offset(p.keep),
    )
    .returning('id'),
);

export type PrincipalRow = {
  session_id: string;
  account_id: string;
  user_id: string;
  email: string;
  is_tenant_admin: boolean;
  permissions: string[];
  assurance: number;
  account_wide: boolean;
  /** Time from which the tenant requires a second factor; null if it does not. */
  two_factor_required_from: string | null;
  expires_at: string;
};

/** The session with the permissions of its user, if session, user and tenant are active. */
export const findPrincipal = read<{ tenantId: string; sessionId: string; now: string }, PrincipalRow>((p) =>
  builder
    .selectFrom('sessions')
    .innerJoin('users', (join) =>
      join.onRef('users.tenant_id', '=', 'sessions.tenant_id').onRef('users.id', '=', 'sessions.user_id'),
    )
    .innerJoin('tenants', 'tenants.id', 'sessions.tenant_id')
    .select([
      'sessions.id as session_id',
      'sessions.account_id',
      'sessions.user_id',
      'users.email',
      'users.is_tenant_admin',
      'sessions.assurance',
      'sessions.account_wide',
      sql<string | null>`tenants.settings ->> 'twoFactorRequiredFrom'`.as('two_factor_required_from'),
      sql<string>`least(sessions.expires_at, sessions.idle_expires_at)`.as('expires_at'),
    ])
    .select(
      sql<string[]>`array(
        select distinct unnest(g.permissions) from group_members m
        join groups g on g.tenant_id = m.tenant_id and g.id = m.group_id
        where m.tenant_id = ${p.tenantId} and m.user_id = users.id)`.as('permissions'),
    )
    .where('sessions.tenant_id', '=', p.tenantId)
    .where('users.tenant_id', '=', p.tenantId)
    .where('tenants.id', '=', p.tenantId)
    .where('sessions.id', '=', p.sessionId)
    .where('sessions.ended_at', 'is', null)
    .where('sessions.expires_at', '>', p.now)
    .where('sessions.idle_expires_at', '>', p.now)
    .where('users.status', '=', 'active')
    .where('tenants.status', '=', 'active'),
);

export type AppAccountSessionRow = {
  id: string;
  name: string;
  email: string;
  permissions: AuthTables['app_accounts']['permissions'];
  expires_at: string;
};

/** The session of an app account, if session, app account and tenant are active. */
export const findAppAccountPrincipal = read<{ tenantId: string; sessionId: string; now: string }, AppAccountSessionRow>(
  (p) =>
    builder
      .selectFrom('sessions')
      .innerJoin('app_accounts', (join) =>
        join
          .onRef('app_accounts.tenant_id', '=', 'sessions.tenant_id')
          .onRef('app_accounts.id', '=', 'sessions.account_id'),
      )
      .innerJoin('tenants', 'tenants.id', 'sessions.tenant_id')
      .select(['app_accounts.id', 'app_accounts.name', 'app_accounts.email', 'app_accounts.permissions'])
      .select(
        sql<string>`least(sessions.expires_at, sessions.idle_expires_at, app_accounts.expires_at)`.as('expires_at'),
      )
      .where('sessions.tenant_id', '=', p.tenantId)
      .where('app_accounts.tenant_id', '=', p.tenantId)
      .where('tenants.id', '=', p.tenantId)
      .where('sessions.id', '=', p.sessionId)
      .where('sessions.is_app_account', '=', true)
      .where('sessions.ended_at', 'is', null)
      .where('sessions.expires_at', '>', p.now)
      .where('sessions.idle_expires_at', '>', p.now)
      .where('app_accounts.status', '=', 'active')
      .where(sql<boolean>`(app_accounts.expires_at is null or app_accounts.expires_at > ${p.now}::timestamptz)`)
      .where('tenants.status', '=', 'active'),
);

/** Whether the account has an enabled second factor. */
export const findActiveFactor = read<{ accountId: string }, { account_id: string }>((p) =>
  builder
    .selectFrom('two_factor_methods')
    .select('account_id')
    .where('account_id', '=', p.accountId)
    .where('enabled_at', 'is not', null)
    .limit(1),
);

export type SessionRow = {
  id: string;
  ip_address: string | null;
  user_agent: string | null;
  created_at: string;
  last_used_at: string;
  expires_at: string;
};

export const listSessions = read<{ tenantId: string; userId: string; now: string }, SessionRow>((p) =>
  builder
    .selectFrom('sessions')
    .select(['id', 'ip_address', 'user_agent', 'created_at', 'last_used_at'])
    .select(sql<string>`least(expires_at, idle_expires_at)`.as('expires_at'))
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.userId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', p.now)
    .where('idle_expires_at', '>', p.now)
    .orderBy('created_at', 'desc'),
);

export const endSession = write<{ tenantId: string; sessionId: string; userId: string; at: string }, { id: string }>(
  (p) =>
    builder
      .updateTable('sessions')
      .set({ ended_at: p.at })
      .where('tenant_id', '=', p.tenantId)
      .where('id', '=', p.sessionId)
      .where('user_id', '=', p.userId)
      .where('ended_at', 'is', null)
      .returning('id'),
);

/** Ends the sessions of a user in one tenant, all of them or all except one. */
export const endAccountSessions = write<
  { tenantId: string; accountId: string; exceptSessionId: string | null; at: string },
  { id: string }
>((p) =>
  builder
    .updateTable('sessions')
    .set({ ended_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('account_id', '=', p.accountId)
    .where('ended_at', 'is', null)
    .where(sql<boolean>`(${p.exceptSessionId}::uuid is null or id <> ${p.exceptSessionId}::uuid)`)
    .returning('id'),
);

/** Extends the idle timeout of an active session, up to its absolute end. */
export const extendSession = write<
  { tenantId: string; sessionId: string; now: string },
  { account_id: string; user_id: string; remembered: boolean; expires_at: string }
>((p) =>
  builder
    .updateTable('sessions')
    .set({
      last_used_at: p.now,
      idle_expires_at: sql`least(expires_at, ${p.now}::timestamptz + case when remembered then interval '14 days' else interval '1 day' end)`,
    })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.sessionId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', p.now)
    .where('idle_expires_at', '>', p.now)
    .returning(['account_id', 'user_id', 'remembered', sql<string>`idle_expires_at`.as('expires_at')]),
);

/** Ends a session of any owner, after a replay of a refresh token. */
export const endSessionById = write<
  { tenantId: string; sessionId: string; at: string },
  { user_id: string; is_app_account: boolean }
>((p) =>
  builder
    .updateTable('sessions')
    .set({ ended_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.sessionId)
    .where('ended_at', 'is', null)
    .returning(['user_id', 'is_app_account']),
);

/** Deletes ended sessions of all tenants after their retention period. */
export const deleteEndedSessions = write<{ before: string; limit: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('sessions')
    .where(({ eb, refTuple, selectFrom }) => {
      const dead = selectFrom('sessions').select(['tenant_id', 'id']).where('expires_at', '<', p.before).limit(p.limit);
      return eb(refTuple('tenant_id', 'id'), 'in', dead.$asTuple('tenant_id', 'id'));
    })
    .returning(sql<number>`1`.as('deleted')),
);

export const findTenantStatus = read<{ tenantId: string }, { status: string }>((p) =>
  builder.selectFrom('tenants').select('status').where('id', '=', p.tenantId),
);

/** The tenant with any status, unless its grace period is over. */
export const findEnterableTenant = read<{ tenantId: string; now: string }, { id: string }>((p) =>
  builder
    .selectFrom('tenants')
    .select('id')
    .where('id', '=', p.tenantId)
    .where('status', '<>', 'deleted')
    .where(sql<boolean>`(deletes_at is null or deletes_at > ${p.now}::timestamptz)`),
);
