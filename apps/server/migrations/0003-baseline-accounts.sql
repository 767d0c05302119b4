-- Accounts and everything that logs in: sessions, tokens, second factors, identity providers, API keys, app accounts.
-- Tables without a tenant_id are reserved for the credential role, whose statements are the narrow look-ups of login.

create table accounts (
  id uuid primary key,
  email text not null,
  password_hash text,
  password_changed_at timestamptz(3),
  email_verified_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint accounts_email_key unique (email)
);
comment on table accounts is 'Persons. Global: one e-mail address, one password, a user in any number of tenants.';
comment on column accounts.email is 'Normalised: NFKC, lower case.';
comment on column accounts.email_verified_at is 'When a link that was sent to the address was used. Before that the owner of the address has not confirmed the account.';
comment on column accounts.password_hash is 'argon2id in PHC format, encrypted with the installation key; null until a password is set.';

grant select, insert, update on accounts to atrium_credential;

-- ---------------------------------------------------------------- sessions and tokens

create table sessions (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  user_id uuid not null,
  account_id uuid not null,
  is_app_account boolean not null default false,
  account_wide boolean not null default false,
  assurance smallint not null default 1 check (assurance in (1, 2)),
  assurance_account_wide boolean not null default false,
  remembered boolean not null default false,
  ip_address text,
  user_agent text,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3) not null,
  idle_expires_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  primary key (tenant_id, id)
);
create index sessions_user on sessions (tenant_id, user_id, created_at) where ended_at is null;
create index sessions_account on sessions (tenant_id, account_id) where ended_at is null;
comment on column sessions.is_app_account is 'Session of an app account: user_id and account_id are both its id.';
comment on column sessions.account_wide is 'False after a login through a provider that one tenant configured: it proves nothing beyond that tenant.';
comment on column sessions.assurance is 'Assurance level (NIST SP 800-63B): 1 after a password only, 2 after a second factor.';
comment on column sessions.assurance_account_wide is 'False if a connector of the tenant delivered the code behind assurance 2: it does not count in other tenants.';

grant select, insert, update, delete on sessions to atrium_credential;
grant select (tenant_id, id, user_id, ended_at), update (ended_at) on sessions to atrium_tenant;

create policy credential_sessions on sessions to atrium_credential using (true) with check (true);

create table refresh_tokens (
  hash bytea primary key,
  tenant_id uuid not null,
  session_id uuid not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3),
  settled_at timestamptz(3)
);
create index refresh_tokens_session on refresh_tokens (tenant_id, session_id);
comment on table refresh_tokens is 'Directory: looked up by the hash of the token before the tenant is known.';
comment on column refresh_tokens.hash is 'SHA-256 of the token; the token itself is never stored.';
comment on column refresh_tokens.settled_at is 'Just before the answer with the successor: an earlier reuse was a parallel request, a later reuse is a replay.';

grant select, insert, update, delete on refresh_tokens to atrium_credential;
grant select, delete on refresh_tokens to atrium_purge;

create policy purge on refresh_tokens to atrium_purge using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

create table one_time_tokens (
  hash bytea primary key,
  purpose text not null check (
    purpose in ('password_reset', 'tenant_selection', 'invitation', 'email_verification', 'provider_login', 'account_disowning')),
  account_id uuid not null,
  payload jsonb not null default '{}',
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
create index one_time_tokens_account on one_time_tokens (account_id, purpose);

grant select, insert, update, delete on one_time_tokens to atrium_credential;

create table rate_limits (
  key text primary key,
  attempts integer not null,
  window_ends_at timestamptz(3) not null
);
comment on table rate_limits is 'A failure is counted before the attempt is evaluated, so that parallel attempts cannot exceed the limit.';

grant select, insert, update, delete on rate_limits to atrium_credential;

create table signing_keys (
  id text primary key,
  public_jwk jsonb not null,
  private_key text not null,
  created_at timestamptz(3) not null,
  retired_at timestamptz(3)
);
comment on column signing_keys.private_key is 'PKCS#8, encrypted with the installation key.';

grant select, insert, update on signing_keys to atrium_credential;

create table known_logins (
  account_id uuid not null,
  origin text not null,
  first_seen_at timestamptz(3) not null,
  last_seen_at timestamptz(3) not null,
  proven_at timestamptz(3),
  primary key (account_id, origin)
);
create index known_logins_old on known_logins (last_seen_at);
comment on table known_logins is 'Origins of earlier logins of an account in any tenant, so that a login from a new origin is reported.';
comment on column known_logins.origin is 'Keyed hash of the kind of browser and the network: recognises an origin without revealing it.';
comment on column known_logins.proven_at is 'When the password, or a provider of the installation, last proved the account from this origin. Null after another session or the provider of one tenant: that gives no limit of its own for failed logins.';

grant select, insert, update, delete on known_logins to atrium_credential;

-- ---------------------------------------------------------------- second factors: of the account, in all its tenants

create table two_factor_methods (
  account_id uuid not null,
  method text not null check (method in ('totp', 'sms', 'email', 'chatapp')),
  secret text,
  delivery_target text,
  enrolled_in uuid,
  last_step bigint,
  enabled_at timestamptz(3),
  enrolment_expires_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (account_id, method)
);
comment on column two_factor_methods.secret is 'TOTP seed, encrypted with the installation key.';
comment on column two_factor_methods.delivery_target is 'Address or number that receives the codes, encrypted with the installation key.';
comment on column two_factor_methods.enrolled_in is 'Tenant in which a delivered factor was set up: only its connectors, and those of the installation, deliver its codes. Null: only those of the installation.';
comment on column two_factor_methods.last_step is 'Latest time step with an accepted TOTP code: a step counts once (RFC 6238 section 5.2).';
comment on column two_factor_methods.enabled_at is 'Null until the first code confirms the enrolment.';

grant select, insert, update, delete on two_factor_methods to atrium_credential;

create table two_factor_codes (
  id uuid primary key,
  account_id uuid not null,
  method text not null check (method in ('sms', 'email', 'chatapp')),
  session_id uuid not null,
  code_hash text not null,
  account_wide boolean not null default false,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
create index two_factor_codes_by_account on two_factor_codes (account_id, method, session_id);
comment on table two_factor_codes is 'Delivered codes, each bound to the session that requested it.';
comment on column two_factor_codes.account_wide is 'False if a connector of the tenant could read the code: it proves nothing beyond that tenant.';

grant select, insert, update, delete on two_factor_codes to atrium_credential;

create table two_factor_backup_codes (
  account_id uuid not null,
  code_hash text not null,
  created_at timestamptz(3) not null,
  used_at timestamptz(3),
  primary key (account_id, code_hash)
);
comment on column two_factor_backup_codes.code_hash is 'HMAC of account and code: a plain hash of forty bits could be reversed from a dump.';

grant select, insert, update, delete on two_factor_backup_codes to atrium_credential;

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
comment on column identity_providers.redirect_uris is 'Exact addresses of applications that a completed login may be sent to.';

grant select, insert, update, delete on identity_providers to atrium_tenant;
grant select on identity_providers to atrium_credential;

create table provider_flows (
  hash bytea primary key,
  payload text not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
comment on table provider_flows is 'Logins that wait for the callback of a provider, looked up by the hash of their state.';
comment on column provider_flows.payload is 'PKCE verifier, nonce and return address for the callback, encrypted with the installation key.';

grant select, insert, update, delete on provider_flows to atrium_credential;

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
comment on column account_identities.configured_by is 'Tenant whose registration with the provider proved the identity; the same subject through another registration is another identity.';

grant select, insert, update, delete on account_identities to atrium_credential;

-- ---------------------------------------------------------------- API keys and app accounts

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
comment on column api_keys.deleted_at is 'The row remains, so that the audit trail can name its actor.';

grant select, insert, update on api_keys to atrium_tenant;
-- An account that the owner of its address disowns leaves its tenants; the API keys that it created there are deleted.
grant select, update (deleted_at, updated_at) on api_keys to atrium_credential;

create table api_key_directory (
  key_uuid uuid primary key,
  tenant_id uuid not null
);
create index api_key_directory_by_tenant on api_key_directory (tenant_id);
comment on table api_key_directory is 'Directory: the tenant of an API key, looked up by the public part of the presented key.';

grant select, insert, delete on api_key_directory to atrium_tenant;
grant select, delete on api_key_directory to atrium_credential;
grant select, delete on api_key_directory to atrium_purge;

create policy own_tenant on api_key_directory to atrium_tenant using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy purge on api_key_directory to atrium_purge using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

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
comment on column app_accounts.password_hash is 'argon2id in PHC format, encrypted with the installation key; null after the account was revoked.';

grant select, insert, update, delete on app_accounts to atrium_tenant;
grant select, update on app_accounts to atrium_credential;

create table app_account_directory (
  tenant_id uuid not null,
  email text not null,
  app_account_id uuid not null,
  primary key (tenant_id, email)
);
comment on table app_account_directory is 'Which app account of the tenant logs in with an address. Keeps the addresses of app accounts unique within a tenant.';

grant select, insert, delete on app_account_directory to atrium_tenant;
grant select on app_account_directory to atrium_credential;

-- ---------------------------------------------------------------- usage of API keys and app accounts

create table credential_totals (
  tenant_id uuid not null,
  credential_id uuid not null,
  requests bigint not null,
  errors bigint not null,
  last_used_at timestamptz(3) not null,
  last_used_ip text,
  batches jsonb not null default '{}',
  primary key (tenant_id, credential_id)
);
comment on table credential_totals is 'All requests of an API key or app account; written in batches, never by the request itself.';
comment on column credential_totals.batches is 'The last batch that each process has added, as milliseconds since 1970, so that a repeated batch counts once; without processes that stopped more than a day ago.';

grant select, insert, update on credential_totals to atrium_tenant;

create table credential_usage (
  tenant_id uuid not null,
  credential_id uuid not null,
  hour timestamptz(3) not null,
  operation text not null,
  requests bigint not null,
  errors bigint not null,
  primary key (tenant_id, credential_id, hour, operation)
);
comment on table credential_usage is 'The requests in credential_totals by hour and operation.';

grant select, insert, update on credential_usage to atrium_tenant;
grant select, delete on credential_usage to atrium_platform;

create policy platform_old on credential_usage to atrium_platform using (true) with check (true);

select app_protect_tenant_tables(
  'sessions', 'identity_providers', 'api_keys', 'app_accounts', 'app_account_directory', 'credential_totals', 'credential_usage');
select app_reserve_tables(
  'atrium_credential', 'accounts', 'refresh_tokens', 'one_time_tokens', 'rate_limits', 'signing_keys', 'known_logins',
  'two_factor_methods', 'two_factor_codes', 'two_factor_backup_codes', 'provider_flows', 'account_identities', 'api_key_directory');
