import { systemTenantId } from '#core/access/principal';
import type { Services } from '#core/services';
import { descriptions } from '#modules/identity-providers/providers/catalog';
import { providerIds, type Client, type ProviderId } from '#modules/identity-providers/providers/provider';
import {
  findOpenRegistration,
  listOpenRegistrations,
  type RegistrationRow,
} from '#modules/identity-providers/registrations/registrations.queries';

/** A registration that logins may go through. */
export type Usable = {
  provider: ProviderId;
  /** Whose it is: a tenant vouches within itself only, the system tenant everywhere. */
  configuredBy: string;
  redirectUris: readonly string[];
  client: Client;
};

/**
 * The registration that serves a tenant: its own, or the installation's where it has none. A tenant that does not exist
 * has none of its own, and so answers like one that does.
 */
export async function findUsable(
  services: Services,
  provider: ProviderId,
  tenantId: string | null,
): Promise<Usable | undefined> {
  const of = (id: string) => services.database.credential(id).first(findOpenRegistration({ tenantId: id, provider }));
  const row = (tenantId === null ? undefined : await of(tenantId)) ?? (await of(systemTenantId));
  return row?.enabled === true ? toUsable(services, row) : undefined;
}

function toUsable({ encryption }: Services, row: RegistrationRow): Usable {
  const { tenant_id: tenantId, provider, client_id: clientId, issuer, settings } = row;
  const clientSecret = encryption.decrypt(row.client_secret, secretPlace({ tenantId, provider }));
  return {
    provider,
    configuredBy: tenantId,
    redirectUris: row.redirect_uris,
    client: { clientId, clientSecret, issuer, settings },
  };
}

/** The five providers of the specification, and which of them a login page for the tenant can offer. */
export async function listIdentityProviders({ database }: Services, tenantId: string | undefined) {
  const of = (id: string) => database.credential(id).all(listOpenRegistrations({ tenantId: id }));
  const [own, shared] = await Promise.all([tenantId === undefined ? [] : of(tenantId), of(systemTenantId)]);
  const isEnabled = (id: ProviderId) => [...own, ...shared].find(({ provider }) => provider === id)?.enabled ?? false;
  return {
    data: providerIds.map((id) => ({
      id,
      name: descriptions[id].name,
      enabled: isEnabled(id),
      icon: id,
      capabilities: { server_callback: true, account_linking: true, ...descriptions[id].capabilities },
    })),
  };
}

/** Where the secret rests: by the key of its row, which outlives every replacement. */
export function secretPlace({ tenantId, provider }: { tenantId: string; provider: string }): string {
  return `identity_providers.client_secret:${tenantId}/${provider}`;
}

/**
 * Where a provider sends the browser back to. Each registration has an address of its own, so that an issuer that one
 * tenant runs cannot have another issuer's code sent to it (RFC 9700 section 4.4); neither lies below the other, as
 * GitHub takes any address below the registered one.
 */
export function callbackUrl({ settings }: Services, provider: string, configuredBy: string): string {
  const owner = configuredBy === systemTenantId ? '' : `/${configuredBy}`;
  return `${settings.publicUrl}/api/v1/public/auth/oauth/${provider}${owner}/callback`;
}
