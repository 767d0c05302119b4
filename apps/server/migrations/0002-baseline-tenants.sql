-- Tenants, their users and groups, the audit trail, and what every tenant has: row counts and idempotency keys.
-- Only users, groups and sessions refer to tenants by a foreign key, because each new row locks the row of its tenant.

create table tenants (
  id uuid primary key,
  name text not null,
  domain text not null,
  status text not null default 'active' check (status in ('active', 'suspended', 'pending_deletion', 'deleted')),
  default_language text not null default 'en',
  languages text[] not null default '{en}',
  settings jsonb not null default '{}',
  suspended_at timestamptz(3),
  deletes_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
comment on column tenants.deletes_at is 'End of the grace period after a requested deletion; until then the tenant can be restored.';

grant select on tenants to atrium_tenant, atrium_credential, atrium_platform;
grant insert on tenants to atrium_credential;
grant update (name, status, default_language, languages, settings, updated_at) on tenants to atrium_tenant;
grant update (name, domain, status, settings, suspended_at, deletes_at, updated_at) on tenants to atrium_platform;

create policy platform_read on tenants for select to atrium_platform using (true);
create policy platform_change on tenants for update to atrium_platform using (true) with check (true);
-- Login lists the tenants of an account; their ids come from memberships.
create policy credential_read on tenants for select to atrium_credential using (true);

create table tenant_domains (
  domain text primary key,
  tenant_id uuid not null
);
create index tenant_domains_by_tenant on tenant_domains (tenant_id);
comment on table tenant_domains is 'Directory that keeps domains unique over all tenants.';

grant select, insert on tenant_domains to atrium_credential;
grant select, delete on tenant_domains to atrium_purge;

create policy purge on tenant_domains to atrium_purge using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- ---------------------------------------------------------------- users and groups

create table users (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  account_id uuid not null,
  email text not null,
  display_name text not null,
  full_name text not null,
  locale text not null,
  timezone text,
  phone text,
  status text not null default 'active' check (status in ('invited', 'active', 'suspended', 'deleted')),
  is_tenant_admin boolean not null default false,
  last_login_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, id)
);
create unique index users_account_key on users (tenant_id, account_id) where status <> 'deleted';
create index users_email on users (tenant_id, email);
create index users_by_name on users (tenant_id, lower(display_name), id);
comment on table users is 'Memberships: what an account is within one tenant.';
comment on column users.account_id is 'accounts.id; without a foreign key, because accounts are global and users are stored with their tenant.';
comment on column users.timezone is 'Name from the time zone database; null counts as UTC.';
comment on column users.phone is 'E.164, as the user entered it.';

grant select, insert, update on users to atrium_tenant, atrium_credential;

create table memberships (
  account_id uuid not null,
  tenant_id uuid not null,
  user_id uuid not null,
  primary key (account_id, tenant_id)
);
create index memberships_by_tenant on memberships (tenant_id);
comment on table memberships is 'Directory: the tenants in which an account has a user. Looked up by account at login.';

grant select, insert, delete on memberships to atrium_credential;
grant select, delete on memberships to atrium_tenant;
grant select, delete on memberships to atrium_purge;

create policy own_tenant_read on memberships for select to atrium_tenant using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy own_tenant on memberships for delete to atrium_tenant using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy purge on memberships to atrium_purge using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

create table groups (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null,
  description text,
  permissions text[] not null default '{}',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, id),
  constraint groups_name_key unique (tenant_id, name)
);

grant select, insert, update, delete on groups to atrium_tenant;
grant select on groups to atrium_credential;

create table group_members (
  tenant_id uuid not null,
  group_id uuid not null,
  user_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, group_id, user_id),
  constraint group_members_group foreign key (tenant_id, group_id) references groups (tenant_id, id) on delete cascade,
  constraint group_members_user foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade
);
create index group_members_by_user on group_members (tenant_id, user_id);

grant select, insert, delete on group_members to atrium_tenant;
-- An invitation puts its user into groups, and a declined invitation removes it, both before the user has a session.
grant select, insert, delete on group_members to atrium_credential;

-- ---------------------------------------------------------------- audit trail

create table audit_logs (
  tenant_id uuid not null,
  created_at timestamptz(3) not null,
  id uuid not null,
  user_id uuid,
  action text not null,
  resource_type text not null,
  resource_id uuid,
  details jsonb,
  ip_address text,
  user_agent text,
  chain_slot smallint,
  chain_position bigint,
  chain_hash bytea,
  primary key (tenant_id, created_at, id)
) partition by range (created_at);
create table audit_logs_default partition of audit_logs default;
create index audit_logs_by_user on audit_logs (tenant_id, user_id, created_at);
create index audit_logs_by_resource on audit_logs (tenant_id, resource_id, created_at);
create index audit_logs_by_action on audit_logs (tenant_id, action text_pattern_ops, created_at);
create index audit_logs_by_type on audit_logs (tenant_id, resource_type, created_at);
create index audit_logs_by_address on audit_logs (tenant_id, ip_address, created_at) where ip_address is not null;
create index audit_logs_by_chain on audit_logs (tenant_id, chain_slot, chain_position) where chain_slot is not null;
create index audit_logs_unchained on audit_logs (tenant_id, created_at) where chain_slot is null;
comment on table audit_logs is 'Append-only for every role of the service; monthly partitions, nothing is granted on a partition.';
comment on column audit_logs.chain_slot is 'Which chain of the tenant the row is in. The service writes no row without one; verification reports such rows.';
comment on column audit_logs.chain_hash is 'SHA-256 over the hash of the previous row in the chain and the digest of the content of this row.';

grant select, insert on audit_logs to atrium_tenant;
grant insert on audit_logs to atrium_credential, atrium_platform;

create table audit_chains (
  tenant_id uuid not null,
  slot smallint not null,
  length bigint not null,
  head bytea not null,
  primary key (tenant_id, slot)
) with (fillfactor = 50);
comment on table audit_chains is 'The end of each hash chain of a tenant. Half of each page stays free, so that an update stays on its page.';
comment on column audit_chains.slot is 'A request uses one of several chains, so that writers rarely wait for each other.';
comment on column audit_chains.head is 'chain_hash of the last row. The hash of the first row is its digest.';

grant select, insert, update on audit_chains to atrium_tenant, atrium_credential, atrium_platform;

-- ---------------------------------------------------------------- row counts and idempotency keys

create table row_counts (
  tenant_id uuid not null,
  table_name text not null,
  slot smallint not null,
  amount bigint not null,
  primary key (tenant_id, table_name, slot)
);
comment on table row_counts is 'Number of rows of a tenant in a table: the sum over its slots. Statements that add or delete rows update it.';
comment on column row_counts.slot is 'Writers choose one at random, so that they rarely wait for each other.';

grant select, insert, update on row_counts to atrium_tenant;

create table idempotency_keys (
  tenant_id uuid not null,
  scope text not null,
  fingerprint text not null,
  claim uuid not null,
  state text not null check (state in ('claimed', 'answered', 'unknown', 'too_long')),
  sealed_answer text,
  lease_until timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, scope),
  check ((state = 'answered') = (sealed_answer is not null))
);
create index idempotency_keys_by_age on idempotency_keys (tenant_id, expires_at);
comment on table idempotency_keys is 'Results of requests with an Idempotency-Key, so that a repeated request has no second effect.';
comment on column idempotency_keys.scope is 'Keyed hash of the actor, the method, the path with its ids and the key.';
comment on column idempotency_keys.fingerprint is 'Keyed hash of query and body. They may hold a password, which the hash does not reveal.';
comment on column idempotency_keys.claim is 'Claim of the request that may settle the row. A new claim replaces an expired row.';
comment on column idempotency_keys.state is 'claimed: in progress, or its process died if the lease has ended; unknown: it failed and may have had an effect; too_long: the answer is too long to be stored.';
comment on column idempotency_keys.lease_until is 'End of the lease, by the clock of the database.';
comment on column idempotency_keys.sealed_answer is 'Encrypted, because an answer may show a secret for the only time.';

grant select, insert, update, delete on idempotency_keys to atrium_tenant;
grant select (tenant_id, scope, expires_at), delete on idempotency_keys to atrium_platform;

create policy platform_old on idempotency_keys to atrium_platform using (true);

select app_protect_tenant_tables(
  'tenants', 'users', 'groups', 'group_members', 'audit_logs', 'audit_chains', 'row_counts', 'idempotency_keys');
select app_reserve_tables('atrium_credential', 'tenant_domains', 'memberships');
