-- Second factors, API keys, app accounts, identity providers, connectors: who may get in besides a password, and how codes
-- reach a person.

-- ---------------------------------------------------------------- sessions

alter table sessions add column is_app_account boolean not null default false;
alter table sessions add column account_wide boolean not null default true;
comment on column sessions.is_app_account is 'The session of an app account: user_id and account_id are both its id.';
comment on column sessions.account_wide is 'False after a login through a provider that one tenant configured: it vouches for nothing beyond that tenant.';

alter table one_time_tokens drop constraint one_time_tokens_purpose_check;
alter table one_time_tokens add constraint one_time_tokens_purpose_check check (purpose in ('password_reset', 'tenant_selection', 'invitation', 'email_verification', 'provider_login'));

-- ---------------------------------------------------------------- second factors: of the account, in all its tenants

create table two_factor_methods (
  account_id uuid not null,
  method text not null check (method in ('totp', 'sms', 'email', 'chatapp')),
  secret text,
  delivery_target text,
  last_step bigint,
  enabled_at timestamptz(3),
  enrolment_expires_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (account_id, method)
);
comment on column two_factor_methods.secret is 'TOTP seed, encrypted with the installation key.';
comment on column two_factor_methods.delivery_target is 'Address or number that codes go to, encrypted with the installation key.';
comment on column two_factor_methods.last_step is 'The newest time step a TOTP code was accepted for: no step counts twice (RFC 6238 section 5.2).';
comment on column two_factor_methods.enabled_at is 'Null while the enrolment waits for its first code.';

create table two_factor_codes (
  id uuid primary key,
  account_id uuid not null,
  method text not null check (method in ('sms', 'email', 'chatapp')),
  session_id uuid not null,
  code_hash text not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
create index two_factor_codes_by_account on two_factor_codes (account_id, method, session_id);
comment on table two_factor_codes is 'Delivered codes, each bound to the session that asked for it.';

create table two_factor_backup_codes (
  account_id uuid not null,
  code_hash text not null,
  created_at timestamptz(3) not null,
  used_at timestamptz(3),
  primary key (account_id, code_hash)
);
comment on column two_factor_backup_codes.code_hash is 'HMAC of account and code: forty bits must not be guessed back from a dump.';

-- ---------------------------------------------------------------- API keys

create table api_keys (
  tenant_id uuid not null,
  id uuid not null,
  key_uuid uuid not null,
  name text not null,
  description text,
  permissions jsonb not null default '{}',
  mcp_write_enabled boolean not null default false,
  enabled boolean not null default true,
  expires_at timestamptz(3),
  ip_whitelist text[],
  device_fingerprint text,
  secret_hash text not null,
  secret_preview text not null,
  previous_secret_hash text,
  previous_secret_expires_at timestamptz(3),
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  deleted_at timestamptz(3),
  primary key (tenant_id, id),
  constraint api_keys_uuid_key unique (tenant_id, key_uuid)
);
comment on column api_keys.secret_hash is 'HMAC of the secret; the secret itself is shown once and never stored.';
comment on column api_keys.deleted_at is 'The row stays, so that the audit trail keeps the name of what acted.';

create table api_key_directory (
  key_uuid uuid primary key,
  tenant_id uuid not null
);
comment on table api_key_directory is 'Directory: whose key it is, looked up by the public part of a presented key.';

-- ---------------------------------------------------------------- app accounts

create table app_accounts (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  email text not null,
  description text,
  permissions jsonb not null default '{}',
  status text not null default 'active' check (status in ('active', 'suspended', 'revoked')),
  expires_at timestamptz(3),
  password_hash text,
  password_changed_at timestamptz(3),
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
comment on column app_accounts.password_hash is 'argon2id in PHC format, encrypted with the installation key; null once the account was revoked.';

create table app_account_directory (
  email text not null,
  tenant_id uuid not null,
  app_account_id uuid not null,
  constraint app_account_directory_pkey primary key (email)
);
comment on table app_account_directory is 'Directory: which app account logs in with an address. Keeps the addresses of app accounts unique over all tenants.';

-- ---------------------------------------------------------------- identity providers

create table identity_providers (
  tenant_id uuid not null,
  provider text not null check (provider in ('google', 'apple', 'microsoft', 'github', 'facebook')),
  id uuid not null,
  enabled boolean not null default true,
  client_id text not null,
  client_secret text not null,
  issuer text,
  redirect_uris text[] not null,
  settings jsonb not null default '{}',
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, provider)
);
comment on table identity_providers is 'Registrations with outside identity providers; those of the system tenant serve every tenant.';
comment on column identity_providers.client_secret is 'Encrypted with the installation key.';
comment on column identity_providers.redirect_uris is 'Where a finished login may be sent: exact addresses of the applications.';

create table provider_flows (
  hash bytea primary key,
  payload text not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
comment on table provider_flows is 'Logins that are at the provider at the moment, looked up by the hash of their state.';
comment on column provider_flows.payload is 'What the callback needs (PKCE verifier, nonce, where to return to), encrypted with the installation key.';

create table account_identities (
  id uuid primary key,
  account_id uuid not null,
  configured_by uuid not null,
  provider text not null,
  subject text not null,
  email text,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3),
  constraint account_identities_key unique (configured_by, provider, subject)
);
create index account_identities_by_account on account_identities (account_id);
comment on column account_identities.configured_by is 'The tenant whose registration with the provider vouches for it; the same subject through another registration is another identity.';

-- ---------------------------------------------------------------- connectors to outside providers

create table connectors (
  tenant_id uuid not null,
  id uuid not null,
  api_key text not null,
  api_name text not null,
  api_base_url text not null,
  config jsonb not null default '{}',
  auth_config text,
  enabled boolean not null default true,
  priority integer not null default 50 check (priority between 1 and 100),
  status text not null default 'unknown' check (status in ('active', 'degraded', 'offline', 'error', 'unknown')),
  last_health_check timestamptz(3),
  last_success timestamptz(3),
  last_error timestamptz(3),
  error_message text,
  error_details jsonb,
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  auto_disable_threshold integer not null default 5 check (auto_disable_threshold >= 1),
  auto_disabled boolean not null default false,
  description text,
  tags text[],
  category text not null default 'app_service' check (category in ('system_sync', 'app_service', 'integration', 'communication')),
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint connectors_api_key_key unique (tenant_id, api_key)
);
comment on table connectors is 'Outside providers of a tenant; those of the system tenant serve every tenant.';
comment on column connectors.api_key is 'Identifier of the provider, no secret (specification, "External API provider connector").';
comment on column connectors.auth_config is 'Credentials as JSON, encrypted with the installation key.';

-- ---------------------------------------------------------------- what credentials did

create table credential_totals (
  tenant_id uuid not null,
  credential_id uuid not null,
  requests bigint not null,
  errors bigint not null,
  last_used_at timestamptz(3) not null,
  last_used_ip text,
  primary key (tenant_id, credential_id)
);
comment on table credential_totals is 'Requests of an API key or app account since it exists; written in batches, never by the request itself.';

create table credential_usage (
  tenant_id uuid not null,
  credential_id uuid not null,
  hour timestamptz(3) not null,
  operation text not null,
  requests bigint not null,
  errors bigint not null,
  primary key (tenant_id, credential_id, hour, operation)
);
comment on table credential_usage is 'The same by hour and operation.';

create table security_events (
  id uuid primary key,
  created_at timestamptz(3) not null,
  event_type text not null check (event_type in ('login_failed', 'permission_denied', 'api_key_used', 'admin_action')),
  concerned_tenant_id uuid,
  user_id uuid,
  details jsonb not null default '{}'
);
create index security_events_by_time on security_events (created_at, id);
create index security_events_by_tenant on security_events (concerned_tenant_id, created_at);
comment on table security_events is 'What a system administrator watches over all tenants, callers of no tenant included.';

-- ---------------------------------------------------------------- who may see what

alter table two_factor_methods enable row level security;
alter table two_factor_methods force row level security;
create policy credential on two_factor_methods to atrium_credential using (true) with check (true);
alter table two_factor_codes enable row level security;
alter table two_factor_codes force row level security;
create policy credential on two_factor_codes to atrium_credential using (true) with check (true);
alter table two_factor_backup_codes enable row level security;
alter table two_factor_backup_codes force row level security;
create policy credential on two_factor_backup_codes to atrium_credential using (true) with check (true);
alter table api_keys enable row level security;
alter table api_keys force row level security;
create policy own_tenant on api_keys using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table api_key_directory enable row level security;
alter table api_key_directory force row level security;
create policy credential on api_key_directory to atrium_credential using (true) with check (true);
create policy own_tenant on api_key_directory to atrium_tenant using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table app_accounts enable row level security;
alter table app_accounts force row level security;
create policy own_tenant on app_accounts using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table app_account_directory enable row level security;
alter table app_account_directory force row level security;
create policy credential on app_account_directory to atrium_credential using (true) with check (true);
create policy own_tenant on app_account_directory to atrium_tenant using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table identity_providers enable row level security;
alter table identity_providers force row level security;
create policy own_tenant on identity_providers using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table provider_flows enable row level security;
alter table provider_flows force row level security;
create policy credential on provider_flows to atrium_credential using (true) with check (true);
alter table account_identities enable row level security;
alter table account_identities force row level security;
create policy credential on account_identities to atrium_credential using (true) with check (true);
alter table connectors enable row level security;
alter table connectors force row level security;
create policy own_tenant on connectors using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform_read on connectors for select to atrium_platform using (true);
alter table credential_totals enable row level security;
alter table credential_totals force row level security;
create policy own_tenant on credential_totals using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table credential_usage enable row level security;
alter table credential_usage force row level security;
create policy own_tenant on credential_usage using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform_old on credential_usage to atrium_platform using (true) with check (true);
alter table security_events enable row level security;
alter table security_events force row level security;
create policy platform on security_events to atrium_platform using (true) with check (true);

grant select, insert, update, delete on two_factor_methods to atrium_credential;
grant select, insert, update, delete on two_factor_codes to atrium_credential;
grant select, insert, update, delete on two_factor_backup_codes to atrium_credential;
grant select, insert, update on api_keys to atrium_tenant;
grant select on api_keys to atrium_credential;
grant select, insert, delete on api_key_directory to atrium_tenant;
grant select on api_key_directory to atrium_credential;
grant select, insert, update, delete on app_accounts to atrium_tenant;
grant select, update on app_accounts to atrium_credential;
grant select, insert, delete on app_account_directory to atrium_tenant;
grant select on app_account_directory to atrium_credential;
grant select, insert, update, delete on identity_providers to atrium_tenant;
grant select on identity_providers to atrium_credential;
grant select, insert, update, delete on provider_flows to atrium_credential;
grant select, insert, update, delete on account_identities to atrium_credential;
grant select, insert, update, delete on connectors to atrium_tenant;
grant select on connectors to atrium_platform;
grant select, insert, update on credential_totals to atrium_tenant;
grant select, insert, update on credential_usage to atrium_tenant;
grant select, delete on credential_usage to atrium_platform;
grant select, insert, delete on security_events to atrium_platform;
