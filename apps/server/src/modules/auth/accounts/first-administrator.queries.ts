import { queryBuilder, read, write } from '#core/data/db/query';
import type { AuthTables } from '#modules/auth/auth.tables';

const builder = queryBuilder<AuthTables>();

export type UserState = { id: string; status: 'invited' | 'active' | 'suspended'; is_tenant_admin: boolean };

/** The membership of the account in the tenant. */
export const findUserOfAccount = read<{ tenantId: string; accountId: string }, UserState>((p) =>
  builder
    .selectFrom('users')
    .select(['id', 'status', 'is_tenant_admin'])
    .where('tenant_id', '=', p.tenantId)
    .where('account_id', '=', p.accountId)
    .where('status', '<>', 'deleted')
    .$castTo<UserState>(),
);

export const makeActiveAdministrator = write<{ tenantId: string; id: string; at: string }, { id: string }>((p) =>
  builder
    .updateTable('users')
    .set({ status: 'active', is_tenant_admin: true, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id'),
);

/** One of them exists, unless the person was only invited. */
export const insertMembershipIfNew = write<{ accountId: string; tenantId: string; userId: string }, never>((p) =>
  builder
    .insertInto('memberships')
    .values({ account_id: p.accountId, tenant_id: p.tenantId, user_id: p.userId })
    .onConflict((conflict) => conflict.columns(['account_id', 'tenant_id']).doNothing()),
);
