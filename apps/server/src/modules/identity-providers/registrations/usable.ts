import { systemTenantId } from '#core/base/access/principal';
import type { Services } from '#core/platform/services';
import { descriptions } from '#modules/identity-providers/providers/catalog';
import { providerIds, type Client, type ProviderId } from '#modules/identity-providers/providers/provider';
import {
  findOpenRegistration,
  listOpenRegistrations,
  type RegistrationRow,
} from '#modules/identity-providers/registrations/registrations.queries';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'settings'>;

/** A registration that logins may use. */
export type UsableRegistration = {
  provider: ProviderId;
  /** Owner of the registration: a tenant authenticates users within itself only, the system tenant everywhere. */
  configuredBy: string;
  redirectUris: readonly string[];
  client: Client;
};

/**
 * The registration that serves a tenant: its own, or that of the installation. An unknown tenant has none of its own,
 * and so gets the same answer as a tenant without one.
 */
export async function findUsableRegistration(
  services: Dependencies,
  provider: ProviderId,
  tenantId: string | null,
): Promise<UsableRegistration | undefined> {
  const of = (id: string) => services.database.credential(id).first(findOpenRegistration({ tenantId: id, provider }));
  const row = (tenantId === null ? undefined : await of(tenantId)) ?? (await of(systemTenantId));
  return row?.enabled === true ? toUsableRegistration(services, row) : undefined;
}

function toUsableRegistration({ encryption }: Dependencies, row: RegistrationRow): UsableRegistration {
  const { tenant_id: tenantId, provider, client_id: clientId, issuer, settings } = row;
  const clientSecret = encryption.decrypt(row.client_secret, secretPlace({ tenantId, provider }));
  return {
    provider,
    configuredBy: tenantId,
    redirectUris: row.redirect_uris,
    client: { clientId, clientSecret, issuer, settings },
  };
}

/** The five providers of the specification, and whether a login page of the tenant can offer them. */
export async function listIdentityProviders({ database }: Dependencies, tenantId: string | undefined) {
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

/** Encryption context of the secret: the key of its row, which remains after every replacement. */
export function secretPlace({ tenantId, provider }: { tenantId: string; provider: string }): string {
  return `identity_providers.client_secret:${tenantId}/${provider}`;
}

/**
 * The callback address of a registration. Each registration has its own, so that the issuer of one tenant cannot
 * receive the code of another issuer (RFC 9700 section 4.4). No address is a prefix of another one, because GitHub
 * accepts every address below the registered one.
 */
export function callbackUrl({ settings }: Dependencies, provider: string, configuredBy: string): string {
  const owner = configuredBy === systemTenantId ? '' : `/${configuredBy}`;
  return `${settings.publicUrl}/api/v1/public/auth/oauth/${provider}${owner}/callback`;
}
