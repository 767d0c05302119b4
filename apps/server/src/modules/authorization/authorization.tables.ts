import type { ApiKeyPermissions, AppAccountPermissions } from '#core/base/access/flags';

/** The columns of all principals that decide on access. */
export type AuthorizationTables = {
  tenants: { id: string; status: string; settings: Record<string, unknown> };
  users: {
    tenant_id: string;
    id: string;
    account_id: string;
    display_name: string;
    status: string;
    is_tenant_admin: boolean;
  };
  groups: { tenant_id: string; id: string; name: string; permissions: string[] };
  group_members: { tenant_id: string; group_id: string; user_id: string };
  api_keys: {
    tenant_id: string;
    id: string;
    name: string;
    permissions: ApiKeyPermissions;
    enabled: boolean;
    expires_at: string | null;
    ip_whitelist: string[] | null;
    device_fingerprint: string | null;
    deleted_at: string | null;
  };
  app_accounts: {
    tenant_id: string;
    id: string;
    name: string;
    permissions: AppAccountPermissions;
    status: string;
    expires_at: string | null;
  };
};
