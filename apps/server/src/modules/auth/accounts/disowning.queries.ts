import { sql } from 'kysely';

import { queryBuilder, write } from '#core/data/db/query';
import type { AuthTables } from '#modules/auth/auth.tables';

type Tables = Pick<AuthTables, 'accounts' | 'users' | 'memberships'> & {
  api_keys: {
    tenant_id: string;
    id: string;
    key_uuid: string;
    created_by: string | null;
    updated_at: string;
    deleted_at: string | null;
  };
  api_key_directory: { key_uuid: string; tenant_id: string };
  app_accounts: Pick<AuthTables['app_accounts'], 'tenant_id' | 'id' | 'status' | 'password_hash'> & {
    password_changed_at: string | null;
    created_by: string | null;
    updated_at: string;
  };
};
type OfUser = { tenantId: string; userId: string };

const builder = queryBuilder<Tables>();

/** Removes the password, so that a password that was verified a moment ago does not give access either. */
export const freeAccount = write<{ accountId: string; at: string }, never>((p) =>
  builder
    .updateTable('accounts')
    .set({ password_hash: null, password_changed_at: p.at, updated_at: p.at })
    .where('id', '=', p.accountId),
);

/** The row remains for the audit trail and for the records that the user created. */
export const deleteUserOfAccount = write<OfUser & { at: string }, never>((p) =>
  builder
    .updateTable('users')
    .set({ status: 'deleted', is_tenant_admin: false, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.userId),
);

export const deleteMembership = write<OfUser, never>((p) =>
  builder.deleteFrom('memberships').where('tenant_id', '=', p.tenantId).where('user_id', '=', p.userId),
);

/** The rows remain, so that the audit trail can show the names of the keys. */
export const deleteKeysOf = write<OfUser & { at: string }, { id: string; key_uuid: string }>((p) =>
  builder
    .updateTable('api_keys')
    .set({ deleted_at: p.at, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('created_by', '=', p.userId)
    .where('deleted_at', 'is', null)
    .returning(['id', 'key_uuid']),
);

export const deleteKeyNames = write<{ tenantId: string; keyUuids: readonly string[] }, never>((p) =>
  builder
    .deleteFrom('api_key_directory')
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`key_uuid = any(${p.keyUuids}::uuid[])`),
);

export const revokeAppAccountsOf = write<OfUser & { at: string }, { id: string }>((p) =>
  builder
    .updateTable('app_accounts')
    .set({ status: 'revoked', password_hash: null, password_changed_at: p.at, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('created_by', '=', p.userId)
    .where('status', '<>', 'revoked')
    .returning('id'),
);
