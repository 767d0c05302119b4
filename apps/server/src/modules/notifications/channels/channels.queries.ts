import { queryBuilder, statement } from '#core/db/query';

type Tables = {
  tenants: { id: string; name: string };
  users: { tenant_id: string; id: string; account_id: string };
  accounts: { id: string; email: string; email_verified_at: string | null };
};

const builder = queryBuilder<Tables>();

export const findTenantName = statement<{ tenantId: string }, { name: string }>((p) =>
  builder.selectFrom('tenants').select('name').where('id', '=', p.tenantId),
);

/** The user, where the address is proven to be theirs. */
export const findProven = statement<{ tenantId: string; id: string; email: string }, { id: string }>((p) =>
  builder
    .selectFrom('users')
    .innerJoin('accounts', 'accounts.id', 'users.account_id')
    .select('users.id')
    .where('users.tenant_id', '=', p.tenantId)
    .where('users.id', '=', p.id)
    .where('accounts.email', '=', p.email)
    .where('accounts.email_verified_at', 'is not', null),
);
