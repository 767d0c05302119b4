-- One statement per query, no trigger, composite keys that lead with tenant_id: `docs/architecture.md`, "Database".

create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- Under row level security an index serves only leakproof conditions. LIKE and lower() are not marked so, though neither
-- tells anything about a value but its result; only a superuser may say it, and elsewhere searches read the whole tenant.
do $$
begin
  if (select rolsuper from pg_roles where rolname = current_user) then
    alter function pg_catalog.textlike(text, text) leakproof;
    alter function pg_catalog.lower(text) leakproof;
  end if;
end $$;

-- The tenant of the running transaction. SET LOCAL, because set_config() does not reach the workers of a
-- distributed database and a session SET leaks through a pooler.
create function app_tenant(tenant uuid) returns void language plpgsql as $$
begin
  execute format('set local app.tenant_id = %L', tenant);
end $$;

-- Behind a transaction pooler the role, too, can only be taken for the transaction.
create function app_enter(wanted_role text, tenant uuid) returns void language plpgsql as $$
begin
  execute format('set local role %I', wanted_role);
  execute 'set local timezone = ''UTC''';
  execute 'set local lock_timeout = ''2s''';
  execute 'set local statement_timeout = ''5s''';
  if tenant is not null then
    execute format('set local app.tenant_id = %L', tenant);
  end if;
end $$;

-- ---------------------------------------------------------------- identity: global, before a tenant is known

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
comment on table accounts is 'Persons. Global: one e-mail address, one password, members of any number of tenants.';
comment on column accounts.email is 'Normalised: NFKC, lower case.';
comment on column accounts.email_verified_at is 'When a link mailed to the address came back. Before that nobody knows whose account it is.';
comment on column accounts.password_hash is 'argon2id in PHC format, encrypted with the installation key; null until the person has set one.';

create table memberships (
  account_id uuid not null,
  tenant_id uuid not null,
  user_id uuid not null,
  primary key (account_id, tenant_id)
);
comment on table memberships is 'Directory: in which tenants an account has a user. Looked up by account at login.';

create table tenant_domains (
  domain text primary key,
  tenant_id uuid not null
);
comment on table tenant_domains is 'Directory that keeps domains unique over all tenants.';

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
comment on column refresh_tokens.hash is 'SHA-256 of the token; the token itself is never stored.';
comment on column refresh_tokens.settled_at is 'When the successor was about to be answered: what arrived earlier was a parallel request, what arrives later is a replay.';

create table one_time_tokens (
  hash bytea primary key,
  purpose text not null check (purpose in ('password_reset', 'tenant_selection', 'invitation')),
  account_id uuid not null,
  payload jsonb not null default '{}',
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);
create index one_time_tokens_account on one_time_tokens (account_id, purpose);

create table throttles (
  key text primary key,
  failures integer not null,
  window_ends_at timestamptz(3) not null
);
comment on table throttles is 'Failures counted before they are evaluated, so that parallel guesses cannot exceed the budget.';

create table signing_keys (
  id text primary key,
  public_jwk jsonb not null,
  private_key text not null,
  created_at timestamptz(3) not null,
  retired_at timestamptz(3)
);
comment on column signing_keys.private_key is 'PKCS#8, encrypted with the installation key.';

create table mail_outbox (
  id uuid primary key,
  recipient text not null,
  subject text not null,
  body text not null,
  created_at timestamptz(3) not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz(3) not null,
  sent_at timestamptz(3),
  last_error text
);
create index mail_outbox_due on mail_outbox (next_attempt_at) where sent_at is null;
comment on column mail_outbox.body is 'Encrypted with the installation key: it may carry a one-time link.';

-- ---------------------------------------------------------------- tenants and their people

create table tenants (
  id uuid primary key,
  name text not null,
  domain text not null,
  status text not null default 'active' check (status in ('active', 'suspended', 'pending_deletion', 'deleted')),
  default_language text not null default 'en',
  languages text[] not null default '{en}',
  settings jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create table users (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  account_id uuid not null,
  email text not null,
  display_name text not null,
  full_name text not null,
  locale text not null,
  status text not null default 'active' check (status in ('invited', 'active', 'suspended', 'deleted')),
  is_tenant_admin boolean not null default false,
  last_login_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, id)
);
create unique index users_account_key on users (tenant_id, account_id) where status <> 'deleted';
create index users_email on users (tenant_id, email);
comment on table users is 'Memberships: what a person is within one tenant.';
comment on column users.account_id is 'accounts.id; no foreign key, because accounts are global and users live with their tenant.';

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

create table sessions (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  user_id uuid not null,
  account_id uuid not null,
  assurance smallint not null default 1 check (assurance in (1, 2)),
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
comment on column sessions.assurance is '1: password only, 2: a second factor was given too (NIST SP 800-63B).';

-- ---------------------------------------------------------------- content
-- No foreign keys to tenants here: each new row would lock the row of its tenant, and policies let no other tenant_id in.

create table spaces (
  tenant_id uuid not null,
  id uuid not null,
  parent_id uuid,
  name text not null,
  description text,
  translations_i18n jsonb not null default '{}',
  capacity integer,
  address jsonb,
  geo jsonb,
  timezone text,
  status text not null default 'active' check (status in ('active', 'maintenance', 'archived')),
  properties jsonb not null default '{}',
  created_by uuid,
  updated_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint spaces_parent foreign key (tenant_id, parent_id) references spaces (tenant_id, id)
);
create index spaces_by_parent on spaces (tenant_id, parent_id, name, id);
create index spaces_by_name on spaces (tenant_id, lower(name), id);
create index spaces_search on spaces using gin (tenant_id, lower(name || ' ' || coalesce(description, '')) gin_trgm_ops);

create table contacts (
  tenant_id uuid not null,
  id uuid not null,
  first_name text,
  middle_name text,
  last_name text,
  email text,
  phone text,
  url text,
  address jsonb,
  notes text,
  created_by uuid,
  updated_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  phone_digits text generated always as (regexp_replace(phone, '\D', '', 'g')) stored,
  search_text text not null generated always as (
    lower(coalesce(first_name, '') || ' ' || coalesce(middle_name, '') || ' ' || coalesce(last_name, '') || ' '
      || coalesce(email, '') || ' ' || coalesce(phone, '') || ' ' || coalesce(address ->> 'city', ''))
  ) stored,
  primary key (tenant_id, id)
);
create index contacts_by_email on contacts (tenant_id, lower(email)) where email is not null;
create index contacts_by_phone on contacts (tenant_id, phone_digits) where phone is not null;
create index contacts_search on contacts using gin (tenant_id, search_text gin_trgm_ops);

create table contact_links (
  tenant_id uuid not null,
  id uuid not null,
  entity_type text not null check (entity_type in ('user', 'space', 'resource')),
  entity_id uuid not null,
  contact_id uuid not null,
  is_primary boolean not null default false,
  created_by uuid,
  created_at timestamptz(3) not null,
  space_id uuid generated always as (case when entity_type = 'space' then entity_id end) stored,
  primary key (tenant_id, id),
  constraint contact_links_key unique (tenant_id, entity_type, entity_id, contact_id),
  constraint contact_links_contact foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
  constraint contact_links_space foreign key (tenant_id, space_id) references spaces (tenant_id, id) on delete cascade
);
create unique index contact_links_primary on contact_links (tenant_id, entity_type, entity_id) where is_primary;
create index contact_links_by_contact on contact_links (tenant_id, contact_id);
create index contact_links_by_space on contact_links (tenant_id, space_id);
comment on column contact_links.space_id is 'entity_id once more, so that a foreign key can hold the link to its space.';

create table row_counts (
  tenant_id uuid not null,
  table_name text not null,
  slot smallint not null,
  amount bigint not null,
  primary key (tenant_id, table_name, slot)
);
comment on table row_counts is 'How many rows a tenant has in a table: the sum over its slots, kept by the statements that add and remove rows.';
comment on column row_counts.slot is 'Writers pick one at random, so that two of them rarely wait for each other.';

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
  primary key (tenant_id, created_at, id)
) partition by range (created_at);
create table audit_logs_default partition of audit_logs default;
create index audit_logs_by_user on audit_logs (tenant_id, user_id, created_at);
create index audit_logs_by_resource on audit_logs (tenant_id, resource_id, created_at);
comment on table audit_logs is 'Append-only for every role the service runs as; monthly partitions, nothing granted on a partition.';

-- ---------------------------------------------------------------- who may see what

-- Tenant tables: the policy holds for every role, the owner included.
alter table tenants enable row level security;
alter table tenants force row level security;
create policy own_tenant on tenants using (id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table users enable row level security;
alter table users force row level security;
create policy own_tenant on users using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table groups enable row level security;
alter table groups force row level security;
create policy own_tenant on groups using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table group_members enable row level security;
alter table group_members force row level security;
create policy own_tenant on group_members using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table sessions enable row level security;
alter table sessions force row level security;
create policy own_tenant on sessions using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table spaces enable row level security;
alter table spaces force row level security;
create policy own_tenant on spaces using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table contacts enable row level security;
alter table contacts force row level security;
create policy own_tenant on contacts using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table contact_links enable row level security;
alter table contact_links force row level security;
create policy own_tenant on contact_links using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table row_counts enable row level security;
alter table row_counts force row level security;
create policy own_tenant on row_counts using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table audit_logs enable row level security;
alter table audit_logs force row level security;
create policy own_tenant on audit_logs using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- Identity tables: the credential role only, whose statements are the narrow look-ups of login.
alter table accounts enable row level security;
alter table accounts force row level security;
create policy credential on accounts to atrium_credential using (true) with check (true);
alter table memberships enable row level security;
alter table memberships force row level security;
create policy credential on memberships to atrium_credential using (true) with check (true);
create policy own_tenant on memberships for delete to atrium_tenant using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy own_tenant_read on memberships for select to atrium_tenant using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table tenant_domains enable row level security;
alter table tenant_domains force row level security;
create policy credential on tenant_domains to atrium_credential using (true) with check (true);
alter table refresh_tokens enable row level security;
alter table refresh_tokens force row level security;
create policy credential on refresh_tokens to atrium_credential using (true) with check (true);
alter table one_time_tokens enable row level security;
alter table one_time_tokens force row level security;
create policy credential on one_time_tokens to atrium_credential using (true) with check (true);
alter table throttles enable row level security;
alter table throttles force row level security;
create policy credential on throttles to atrium_credential using (true) with check (true);
alter table signing_keys enable row level security;
alter table signing_keys force row level security;
create policy credential on signing_keys to atrium_credential using (true) with check (true);
alter table mail_outbox enable row level security;
alter table mail_outbox force row level security;
create policy credential on mail_outbox for insert to atrium_credential with check (true);
create policy platform on mail_outbox to atrium_platform using (true) with check (true);

-- System administration reads tenants across the installation and writes audit rows into the tenant it acts on.
create policy platform_read on tenants for select to atrium_platform using (true);

-- Login lists the tenants of a person, whose ids it has from memberships.
create policy credential_read on tenants for select to atrium_credential using (true);
create policy credential_sessions on sessions to atrium_credential using (true) with check (true);

grant select on tenants to atrium_tenant, atrium_credential, atrium_platform;
grant insert on tenants to atrium_credential;
grant update (name, status, default_language, languages, settings, updated_at) on tenants to atrium_tenant;
grant select, insert, update on users to atrium_tenant, atrium_credential;
grant select, insert, update, delete on groups to atrium_tenant;
grant select on groups to atrium_credential;
grant select, insert, delete on group_members to atrium_tenant;
grant select on group_members to atrium_credential;
grant select, insert, update, delete on sessions to atrium_credential;
grant select (tenant_id, id, user_id, ended_at), update (ended_at) on sessions to atrium_tenant;
grant select, insert, update, delete on spaces to atrium_tenant;
grant select, insert, update, delete on contacts to atrium_tenant;
grant select, insert, update, delete on contact_links to atrium_tenant;
grant select, insert, update on row_counts to atrium_tenant;
grant select, insert on audit_logs to atrium_tenant;
grant insert on audit_logs to atrium_credential, atrium_platform;
grant select, insert, update on accounts to atrium_credential;
grant select, insert, delete on memberships to atrium_credential;
grant select, delete on memberships to atrium_tenant;
grant select, insert on tenant_domains to atrium_credential;
grant select, insert, update, delete on refresh_tokens to atrium_credential;
grant select, insert, update, delete on one_time_tokens to atrium_credential;
grant select, insert, update, delete on throttles to atrium_credential;
grant select, insert, update on signing_keys to atrium_credential;
grant insert on mail_outbox to atrium_credential;
grant select, update, delete on mail_outbox to atrium_platform;
