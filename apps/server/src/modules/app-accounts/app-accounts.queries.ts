import { sql } from 'kysely';

import type { AppAccountPermissions } from '#core/base/access/flags';
import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { deleteRow } from '#core/data/audit/audited-rows.queries';
import { auditedWrite, queryBuilder, read, toAuditedWrite, write, type WriteStatement } from '#core/data/db/query';
import { typed, lockById, tenantTable, text, time, uuid, type RowOf } from '#core/data/db/rows';
import type { UsageTables } from '#core/data/usage/usage.queries';

type AppAccountTable = {
  tenant_id: string;
  id: string;
  name: string;
  email: string;
  description: string | null;
  permissions: AppAccountPermissions;
  status: 'active' | 'suspended' | 'revoked';
  expires_at: string | null;
  password_hash: string | null;
  password_changed_at: string | null;
  created_by: string | null;
  created_at: string;
  updated_at: string;
};

type AppAccountTables = UsageTables & {
  app_accounts: AppAccountTable;
  app_account_directory: { email: string; tenant_id: string; app_account_id: string };
  sessions: { tenant_id: string; user_id: string; ended_at: string | null };
};

/** An app account for answers; of its password only whether one exists. */
export type AppAccountRow = Omit<AppAccountTable, 'password_hash' | 'password_changed_at'> & {
  auth_user_id: string | null;
  last_used_at: string | null;
};

const builder = queryBuilder<AppAccountTables>();

const accountsWithUsage = (tenantId: string) =>
  builder
    .selectFrom('app_accounts')
    .leftJoin('credential_totals', (join) =>
      join
        .onRef('credential_totals.tenant_id', '=', 'app_accounts.tenant_id')
        .onRef('credential_totals.credential_id', '=', 'app_accounts.id'),
    )
    .select([
      'app_accounts.tenant_id',
      'app_accounts.id',
      'app_accounts.name',
      'app_accounts.email',
      'app_accounts.description',
      'app_accounts.permissions',
      'app_accounts.status',
      'app_accounts.expires_at',
      'app_accounts.created_by',
      'app_accounts.created_at',
      'app_accounts.updated_at',
      'credential_totals.last_used_at',
      sql<string | null>`case when app_accounts.password_hash is not null then app_accounts.id end`.as('auth_user_id'),
    ])
    .where('app_accounts.tenant_id', '=', tenantId);

export const findAppAccount = read<{ tenantId: string; id: string }, AppAccountRow>((p) =>
  accountsWithUsage(p.tenantId).where('app_accounts.id', '=', p.id),
);

/** Sorted by name; all rows without a limit. */
export const listAppAccounts = read<{ tenantId: string; limit: number | null; offset: number }, AppAccountRow>((p) =>
  accountsWithUsage(p.tenantId)
    .orderBy(sql`lower(app_accounts.name)`)
    .orderBy('app_accounts.id')
    .limit(p.limit)
    .offset(p.offset),
);

const accounts = tenantTable('app_accounts', {
  id: uuid,
  email: text,
  permissions: typed<AppAccountPermissions>(),
  status: typed<AppAccountTable['status']>(),
  expires_at: time.orNull,
});
export type LockedAppAccount = RowOf<typeof accounts>;

/** Logins wait, and the change affects exactly what was authorised. */
export const lockAppAccount = lockById(accounts, 'for update');

type NewAppAccount = Omit<AppAccountTable, 'tenant_id' | 'status' | 'password_changed_at' | 'updated_at'> & AuditParams;

export const insertAppAccount = auditedWrite<NewAppAccount, { id: string }>((p) => {
  const change = builder
    .insertInto('app_accounts')
    .values({
      tenant_id: p.tenantId,
      id: p.id,
      name: p.name,
      email: p.email,
      description: p.description,
      permissions: p.permissions,
      status: 'active',
      expires_at: p.expires_at,
      password_hash: p.password_hash,
      password_changed_at: p.created_at,
      created_by: p.created_by,
      created_at: p.created_at,
      updated_at: p.created_at,
    })
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'app_account.created', resourceType: 'app_account' }, p);
});

export const insertDirectoryEntry = write<{ tenantId: string; id: string; email: string }, never>((p) =>
  builder.insertInto('app_account_directory').values({ email: p.email, tenant_id: p.tenantId, app_account_id: p.id }),
);

export const deleteDirectoryEntry = write<{ tenantId: string; email: string }, never>((p) =>
  builder.deleteFrom('app_account_directory').where('tenant_id', '=', p.tenantId).where('email', '=', p.email),
);

export type AppAccountChanges = Partial<
  Pick<AppAccountTable, 'name' | 'description' | 'permissions' | 'status' | 'expires_at'>
>;

export function updateAppAccount(
  id: string,
  changes: AppAccountChanges & { updated_at: string },
  audit: AuditParams,
): WriteStatement<{ id: string }> {
  const change = builder
    .updateTable('app_accounts')
    .set(changes)
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .returning('id');
  const event = { action: 'app_account.updated', resourceType: 'app_account' };
  return toAuditedWrite(withAudit<{ id: string }>(change, event, audit));
}

// Always later than before, even within one millisecond: a login compares it to see whether the verified password is
// current.
const nextChange = (at: string) => sql<string>`greatest(${at}::timestamptz, password_changed_at + interval '1 ms')`;

export const clearPassword = write<{ tenantId: string; id: string; at: string }, never>((p) =>
  builder
    .updateTable('app_accounts')
    .set({ password_hash: null, password_changed_at: nextChange(p.at) })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);

type NewPassword = { id: string; passwordHash: string; at: string } & AuditParams;

export const storePassword = storeAs('app_account.password_set');
export const storeRegeneratedPassword = storeAs('app_account.password_regenerated');

function storeAs(action: string) {
  return auditedWrite<NewPassword, { id: string; updated_at: string }>((p) => {
    const change = builder
      .updateTable('app_accounts')
      .set({ password_hash: p.passwordHash, password_changed_at: nextChange(p.at), updated_at: p.at })
      .where('tenant_id', '=', p.tenantId)
      .where('id', '=', p.id)
      .returning(['id', 'updated_at']);
    return withAudit<{ id: string; updated_at: string }>(change, { action, resourceType: 'app_account' }, p);
  });
}

export const deleteAppAccount = deleteRow(accounts, { action: 'app_account.deleted', resourceType: 'app_account' });

/** Sessions of an app account store its identifier as the user. */
export const endSessions = write<{ tenantId: string; id: string; at: string }, never>((p) =>
  builder
    .updateTable('sessions')
    .set({ ended_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.id)
    .where('ended_at', 'is', null),
);
