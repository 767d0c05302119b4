import type { ApiKeyPermissions } from '#core/base/access/flags';
import type { UsageTables } from '#core/data/usage/usage.queries';

export type ApiKeyTable = {
  tenant_id: string;
  id: string;
  key_uuid: string;
  name: string;
  description: string | null;
  permissions: ApiKeyPermissions;
  mcp_write_enabled: boolean;
  enabled: boolean;
  expires_at: string | null;
  ip_whitelist: string[] | null;
  device_fingerprint: string | null;
  secret_hash: string;
  secret_preview: string;
  previous_secret_hash: string | null;
  previous_secret_expires_at: string | null;
  created_by: string | null;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
};

export type ApiKeyTables = Pick<UsageTables, 'credential_totals'> & {
  api_keys: ApiKeyTable;
  api_key_directory: { key_uuid: string; tenant_id: string };
  tenants: { id: string; status: string };
};
