import type { AppAccountPermissions } from '#core/base/access/flags';

/** Purposes of one-time tokens. */
export type OneTimePurpose =
  | 'password_reset'
  | 'tenant_selection'
  | 'invitation'
  | 'email_verification'
  | 'provider_login'
  | 'account_disowning';

/** Identity tables, and the columns of tenant tables that login reads. */
export type AuthTables = {
  accounts: {
    id: string;
    email: string;
    password_hash: string | null;
    password_changed_at: string | null;
    email_verified_at: string | null;
    created_at: string;
    updated_at: string;
  };
  memberships: { account_id: string; tenant_id: string; user_id: string };
  tenant_domains: { domain: string; tenant_id: string };
  refresh_tokens: {
    hash: Buffer;
    tenant_id: string;
    session_id: string;
    created_at: string;
    expires_at: string;
    used_at: string | null;
    settled_at: string | null;
  };
  one_time_tokens: {
    hash: Buffer;
    purpose: OneTimePurpose;
    account_id: string;
    payload: Record<string, unknown>;
    created_at: string;
    expires_at: string;
    used_at: string | null;
  };
  signing_keys: {
    id: string;
    public_jwk: Record<string, unknown>;
    private_key: string;
    created_at: string;
    retired_at: string | null;
  };
  sessions: {
    tenant_id: string;
    id: string;
    user_id: string;
    account_id: string;
    assurance: number;
    assurance_account_wide: boolean;
    remembered: boolean;
    is_app_account: boolean;
    account_wide: boolean;
    ip_address: string | null;
    user_agent: string | null;
    created_at: string;
    last_used_at: string;
    idle_expires_at: string;
    expires_at: string;
    ended_at: string | null;
  };
  tenants: {
    id: string;
    name: string;
    domain: string;
    status: 'active' | 'suspended' | 'pending_deletion' | 'deleted';
    default_language: string;
    languages: string[];
    settings: Record<string, unknown>;
    deletes_at: string | null;
    created_at: string;
    updated_at: string;
  };
  users: {
    tenant_id: string;
    id: string;
    account_id: string;
    email: string;
    display_name: string;
    full_name: string;
    locale: string;
    status: 'invited' | 'active' | 'suspended' | 'deleted';
    is_tenant_admin: boolean;
    last_login_at: string | null;
    created_at: string;
    updated_at: string;
  };
  groups: { tenant_id: string; id: string; name: string; permissions: string[] };
  group_members: { tenant_id: string; group_id: string; user_id: string; created_at: string };
  app_accounts: {
    tenant_id: string;
    id: string;
    name: string;
    email: string;
    permissions: AppAccountPermissions;
    status: 'active' | 'suspended' | 'revoked';
    expires_at: string | null;
    password_hash: string | null;
    password_changed_at: string | null;
  };
  app_account_directory: { email: string; tenant_id: string; app_account_id: string };
  two_factor_methods: { account_id: string; enabled_at: string | null };
};
