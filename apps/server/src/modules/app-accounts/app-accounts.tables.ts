import type { AppAccountPermissions } from '#core/base/access/flags';
import type { UsageTables } from '#core/data/usage/usage.queries';

export type AppAccountTable = {
  tenant_id: string;
  id: string;
  name: string;
  email: string;
  description: string | null;
  permissions: AppAccountPermissions;
  status: 'active' | 'suspended' | 'revoked';
  expires_at: string | null;
  password_hash: string | null;
  password_changed_at: string | null;
  created_by: string | null;
  created_at: string;
  updated_at: string;
};

export type AppAccountTables = UsageTables & {
  app_accounts: AppAccountTable;
  app_account_directory: { email: string; tenant_id: string; app_account_id: string };
  sessions: { tenant_id: string; user_id: string; ended_at: string | null };
};
