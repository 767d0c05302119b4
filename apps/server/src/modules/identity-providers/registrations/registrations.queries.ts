import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, lock, queryBuilder, read } from '#core/data/db/query';
import type { ProviderTables } from '#modules/identity-providers/identity-providers.tables';

export type RegistrationRow = ProviderTables['identity_providers'];

const builder = queryBuilder<ProviderTables>();

const columns = [
  'tenant_id',
  'provider',
  'id',
  'enabled',
  'client_id',
  'client_secret',
  'issuer',
  'redirect_uris',
  'settings',
  'created_at',
  'updated_at',
] as const;

export const listRegistrations = read<{ tenantId: string }, RegistrationRow>((p) =>
  builder.selectFrom('identity_providers').select(columns).where('tenant_id', '=', p.tenantId),
);

export const findRegistration = read<{ tenantId: string; provider: string }, RegistrationRow>((p) =>
  builder
    .selectFrom('identity_providers')
    .select(columns)
    .where('tenant_id', '=', p.tenantId)
    .where('provider', '=', p.provider as RegistrationRow['provider']),
);

const qualified = columns.map((name) => `identity_providers.${name}` as const);

/** Registrations that logins may use: none of a tenant without access. */
export const listOpenRegistrations = read<{ tenantId: string }, RegistrationRow>((p) =>
  builder
    .selectFrom('identity_providers')
    .innerJoin('tenants', 'tenants.id', 'identity_providers.tenant_id')
    .select(qualified)
    .where('identity_providers.tenant_id', '=', p.tenantId)
    .where('tenants.id', '=', p.tenantId)
    .where('tenants.status', '=', 'active'),
);

export const findOpenRegistration = read<{ tenantId: string; provider: string }, RegistrationRow>((p) =>
  builder
    .selectFrom('identity_providers')
    .innerJoin('tenants', 'tenants.id', 'identity_providers.tenant_id')
    .select(qualified)
    .where('identity_providers.tenant_id', '=', p.tenantId)
    .where('tenants.id', '=', p.tenantId)
    .where('tenants.status', '=', 'active')
    .where('identity_providers.provider', '=', p.provider as RegistrationRow['provider']),
);

/** Locked until the end of the transaction, so that the kept secret is the one that was checked. */
export const lockRegistration = lock<{ tenantId: string; provider: string }, RegistrationRow>((p) =>
  builder
    .selectFrom('identity_providers')
    .select(columns)
    .where('tenant_id', '=', p.tenantId)
    .where('provider', '=', p.provider as RegistrationRow['provider'])
    .forUpdate(),
);

export const saveRegistration = auditedWrite<Omit<RegistrationRow, 'tenant_id'> & AuditParams, RegistrationRow>((p) => {
  const change = builder
    .insertInto('identity_providers')
    .values({
      tenant_id: p.tenantId,
      provider: p.provider,
      id: p.id,
      enabled: p.enabled,
      client_id: p.client_id,
      client_secret: p.client_secret,
      issuer: p.issuer,
      redirect_uris: p.redirect_uris,
      settings: p.settings,
      created_at: p.created_at,
      updated_at: p.updated_at,
    })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'provider']).doUpdateSet((db) => ({
        enabled: db.ref('excluded.enabled'),
        client_id: db.ref('excluded.client_id'),
        client_secret: db.ref('excluded.client_secret'),
        issuer: db.ref('excluded.issuer'),
        redirect_uris: db.ref('excluded.redirect_uris'),
        settings: db.ref('excluded.settings'),
        updated_at: db.ref('excluded.updated_at'),
      })),
    )
    .returning(columns);
  const event = { action: 'identity_provider.configured', resourceType: 'identity_provider' };
  return withAudit<RegistrationRow>(change, event, p);
});

export const deleteRegistration = auditedWrite<{ provider: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .deleteFrom('identity_providers')
    .where('tenant_id', '=', p.tenantId)
    .where('provider', '=', p.provider as RegistrationRow['provider'])
    .returning('id');
  const event = { action: 'identity_provider.deleted', resourceType: 'identity_provider' };
  return withAudit<{ id: string }>(change, event, p);
});
