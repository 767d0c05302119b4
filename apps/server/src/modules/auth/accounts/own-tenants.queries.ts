import { lock, queryBuilder, read } from '#core/data/db/query';
import type { TenantChoice } from '#modules/auth/accounts/accounts.queries';
import type { AuthTables } from '#modules/auth/auth.tables';

const builder = queryBuilder<AuthTables>();

/** The tenant, if the account has access: no row for a suspended user or tenant. */
export const findOpenTenant = read<{ tenantId: string; accountId: string }, TenantChoice>((p) =>
  builder
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select(['tenants.id', 'tenants.name', 'tenants.domain'])
    .where('users.tenant_id', '=', p.tenantId)
    .where('tenants.id', '=', p.tenantId)
    .where('users.account_id', '=', p.accountId)
    .where('users.status', '=', 'active')
    .where('tenants.status', '=', 'active'),
);

/** The assurance of a session that has not ended. */
export const findAssurance = read<
  { tenantId: string; sessionId: string },
  { assurance: number; assurance_account_wide: boolean }
>((p) =>
  builder
    .selectFrom('sessions')
    .select(['assurance', 'assurance_account_wide'])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.sessionId)
    .where('ended_at', 'is', null),
);

/** Locks an active session, so that it cannot end before its successor has started. */
export const lockLiveSession = lock<
  { tenantId: string; sessionId: string; now: string },
  { remembered: boolean; expires_at: string; assurance: number; assurance_account_wide: boolean }
>((p) =>
  builder
    .selectFrom('sessions')
    .select(['remembered', 'expires_at', 'assurance', 'assurance_account_wide'])
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.sessionId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', p.now)
    .where('idle_expires_at', '>', p.now)
    .forNoKeyUpdate(),
);
