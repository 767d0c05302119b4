import type { ProviderId, ProviderSettings } from '#modules/identity-providers/providers/provider';

export type ProviderTables = {
  identity_providers: {
    tenant_id: string;
    provider: ProviderId;
    id: string;
    enabled: boolean;
    client_id: string;
    client_secret: string;
    issuer: string | null;
    redirect_uris: string[];
    settings: ProviderSettings;
    created_at: string;
    updated_at: string;
  };
  provider_flows: { hash: Buffer; payload: string; created_at: string; expires_at: string; used_at: string | null };
  account_identities: {
    id: string;
    account_id: string;
    configured_by: string;
    provider: ProviderId;
    subject: string;
    email: string | null;
    created_at: string;
    last_used_at: string | null;
  };
  accounts: { id: string; email: string; email_verified_at: string | null };
  users: { tenant_id: string; id: string; account_id: string; status: string };
  tenants: { id: string; status: string };
};
