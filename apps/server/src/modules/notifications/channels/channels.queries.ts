import { queryBuilder, read } from '#core/data/db/query';

type Tables = {
  tenants: { id: string; name: string };
  users: { tenant_id: string; id: string; account_id: string; is_tenant_admin: boolean; status: string };
  accounts: { id: string; email: string; email_verified_at: string | null };
};

const builder = queryBuilder<Tables>();

/** The name of the tenant, if one of its administrators has a verified address. */
export const findBrand = read<{ tenantId: string }, { name: string }>((p) =>
  builder
    .selectFrom('tenants')
    .select('name')
    .where('id', '=', p.tenantId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('users')
          .innerJoin('accounts', 'accounts.id', 'users.account_id')
          .select('users.id')
          .where('users.tenant_id', '=', p.tenantId)
          .where('users.is_tenant_admin', '=', true)
          .where('users.status', '=', 'active')
          .where('accounts.email_verified_at', 'is not', null),
      ),
    ),
);

/** The user, if the address is verified. */
export const findProven = read<{ tenantId: string; id: string; email: string }, { id: string }>((p) =>
  builder
    .selectFrom('users')
    .innerJoin('accounts', 'accounts.id', 'users.account_id')
    .select('users.id')
    .where('users.tenant_id', '=', p.tenantId)
    .where('users.id', '=', p.id)
    .where('accounts.email', '=', p.email)
    .where('accounts.email_verified_at', 'is not', null),
);
