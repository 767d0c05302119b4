-- Categories, files and their quota, calendar, links of contacts to users and resources, and the end of a tenant.

create extension if not exists btree_gist;

-- ---------------------------------------------------------------- categories

create table categories (
  tenant_id uuid not null,
  id uuid not null,
  parent_id uuid,
  key text not null,
  filter_id text,
  level integer not null check (level >= 0),
  path text collate "C" not null,
  translations jsonb not null,
  search_text text not null,
  usage_count integer not null default 0 check (usage_count >= 0),
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint categories_key_key unique (tenant_id, key),
  constraint categories_parent foreign key (tenant_id, parent_id) references categories (tenant_id, id)
);
create index categories_by_level on categories (tenant_id, level, key);
create index categories_by_parent on categories (tenant_id, parent_id, key);
create index categories_by_path on categories (tenant_id, path);
create index categories_by_filter on categories (tenant_id, filter_id, level, key) where filter_id is not null;
comment on column categories.path is 'The ids from the root down to the category itself, each followed by a slash: a subtree is one range of texts.';
comment on column categories.translations is 'By language: {"en": {"name": "...", "description": "..."}}.';
comment on column categories.search_text is 'Key and names in all languages, in lower case. Without an index: a move writes each index anew for all that moves, and a tenant has few enough to read.';
comment on column categories.usage_count is 'Rows in category_links, kept by the statements that add and remove them.';

create table category_links (
  tenant_id uuid not null,
  id uuid not null,
  category_id uuid not null,
  entity_type text not null check (entity_type in ('space', 'resource', 'tenant', 'group')),
  entity_id uuid not null,
  created_by uuid,
  created_at timestamptz(3) not null,
  space_id uuid generated always as (case when entity_type = 'space' then entity_id end) stored,
  resource_id uuid generated always as (case when entity_type = 'resource' then entity_id end) stored,
  group_id uuid generated always as (case when entity_type = 'group' then entity_id end) stored,
  primary key (tenant_id, id),
  constraint category_links_key unique (tenant_id, category_id, entity_type, entity_id),
  constraint category_links_tenant check (entity_type <> 'tenant' or entity_id = tenant_id),
  constraint category_links_category foreign key (tenant_id, category_id) references categories (tenant_id, id),
  constraint category_links_space foreign key (tenant_id, space_id) references spaces (tenant_id, id),
  constraint category_links_resource foreign key (tenant_id, resource_id) references resources (tenant_id, id),
  constraint category_links_group foreign key (tenant_id, group_id) references groups (tenant_id, id)
);
create index category_links_by_entity on category_links (tenant_id, entity_type, entity_id, category_id);
create index category_links_by_space on category_links (tenant_id, space_id) where space_id is not null;
create index category_links_by_resource on category_links (tenant_id, resource_id) where resource_id is not null;
create index category_links_by_group on category_links (tenant_id, group_id) where group_id is not null;
comment on table category_links is 'Without cascades: whoever deletes what is linked removes the links first, and counts them off.';

-- ---------------------------------------------------------------- files

create table tenant_storage (
  tenant_id uuid not null,
  enabled boolean not null default true,
  quota_bytes bigint check (quota_bytes >= 1),
  usage_bytes bigint not null default 0 check (usage_bytes >= 0),
  reserved_bytes bigint not null default 0 check (reserved_bytes >= 0),
  updated_at timestamptz(3) not null,
  primary key (tenant_id)
);
comment on column tenant_storage.quota_bytes is 'Null for the default of the installation.';
comment on column tenant_storage.usage_bytes is 'Sum of the sizes of the stored files of the tenant.';
comment on column tenant_storage.reserved_bytes is 'Sum of the sizes of the uploads under way: taken before the first byte is accepted.';

create table files (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  content_type text not null,
  size_bytes bigint not null check (size_bytes >= 0),
  sha256 text,
  status text not null check (status in ('uploading', 'stored', 'deleting')),
  lease_ends_at timestamptz(3),
  space_id uuid,
  resource_id uuid,
  contact_id uuid,
  avatar_of uuid,
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint files_entity check (num_nonnulls(space_id, resource_id, contact_id, avatar_of) <= 1),
  constraint files_stored check ((status = 'stored') = (lease_ends_at is null) and (status <> 'stored' or sha256 is not null)),
  constraint files_space foreign key (tenant_id, space_id) references spaces (tenant_id, id),
  constraint files_resource foreign key (tenant_id, resource_id) references resources (tenant_id, id),
  constraint files_contact foreign key (tenant_id, contact_id) references contacts (tenant_id, id),
  constraint files_avatar foreign key (tenant_id, avatar_of) references users (tenant_id, id)
);
create index files_by_name on files (tenant_id, lower(name), id) where status = 'stored';
create index files_by_space on files (tenant_id, space_id, id) where space_id is not null;
create index files_by_resource on files (tenant_id, resource_id, id) where resource_id is not null;
create index files_by_contact on files (tenant_id, contact_id, id) where contact_id is not null;
create unique index files_avatar_key on files (tenant_id, avatar_of) where avatar_of is not null and status = 'stored';
create index files_unsettled on files (tenant_id, lease_ends_at) where status <> 'stored';
comment on table files is 'The row comes before the bytes and goes after them, so that no object is without one, whatever is killed when.';
comment on column files.lease_ends_at is 'An upload or a deletion that nobody carries on by then is cleaned up.';

-- ---------------------------------------------------------------- calendar

create table calendar_events (
  tenant_id uuid not null,
  id uuid not null,
  title text not null,
  description text,
  location text,
  visibility text not null check (visibility in ('default', 'private')),
  busy boolean not null,
  local_start text not null,
  local_end text not null,
  timezone text not null,
  fold text not null check (fold in ('earlier', 'later')),
  starts_at timestamptz(3) not null,
  ends_at timestamptz(3) not null,
  organizer_type text not null check (organizer_type in ('user', 'api_key', 'app_account')),
  organizer_id uuid not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint calendar_events_order check (ends_at > starts_at),
  constraint calendar_events_length check (ends_at - starts_at <= interval '32 days')
);
create index calendar_events_by_start on calendar_events (tenant_id, starts_at, id);
create index calendar_events_by_organizer on calendar_events (tenant_id, organizer_id, starts_at, id);
comment on column calendar_events.local_start is 'What the clocks of the zone show, `2026-03-29T09:00:00`: the truth, from which starts_at is derived.';
comment on column calendar_events.fold is 'Which one is meant where the clocks show a time twice.';
comment on constraint calendar_events_length on calendar_events is '31 days by the clocks: what overlaps a range begins at most this long before it.';

create table calendar_bookings (
  tenant_id uuid not null,
  event_id uuid not null,
  entity_type text not null check (entity_type in ('space', 'resource', 'user')),
  entity_id uuid not null,
  starts_at timestamptz(3) not null,
  ends_at timestamptz(3) not null,
  busy boolean not null,
  space_id uuid generated always as (case when entity_type = 'space' then entity_id end) stored,
  resource_id uuid generated always as (case when entity_type = 'resource' then entity_id end) stored,
  user_id uuid generated always as (case when entity_type = 'user' then entity_id end) stored,
  primary key (tenant_id, event_id, entity_id),
  constraint calendar_bookings_event foreign key (tenant_id, event_id) references calendar_events (tenant_id, id) on delete cascade,
  constraint calendar_bookings_space foreign key (tenant_id, space_id) references spaces (tenant_id, id) on delete cascade,
  constraint calendar_bookings_resource foreign key (tenant_id, resource_id) references resources (tenant_id, id) on delete cascade,
  constraint calendar_bookings_user foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade,
  constraint calendar_bookings_no_overlap exclude using gist (tenant_id with =, entity_id with =, tstzrange(starts_at, ends_at) with &&) where (busy)
);
create index calendar_bookings_by_entity on calendar_bookings (tenant_id, entity_id, starts_at);
create index calendar_bookings_by_space on calendar_bookings (tenant_id, space_id) where space_id is not null;
create index calendar_bookings_by_resource on calendar_bookings (tenant_id, resource_id) where resource_id is not null;
create index calendar_bookings_by_user on calendar_bookings (tenant_id, user_id) where user_id is not null;
comment on table calendar_bookings is 'Whose time an event takes; times half-open, so that one may begin when the other ends.';

-- ---------------------------------------------------------------- contacts of users and resources

alter table contact_links add column user_id uuid generated always as (case when entity_type = 'user' then entity_id end) stored;
alter table contact_links add column resource_id uuid generated always as (case when entity_type = 'resource' then entity_id end) stored;
alter table contact_links add constraint contact_links_user foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade;
alter table contact_links add constraint contact_links_resource foreign key (tenant_id, resource_id) references resources (tenant_id, id) on delete cascade;
create index contact_links_by_user on contact_links (tenant_id, user_id) where user_id is not null;
create index contact_links_by_resource on contact_links (tenant_id, resource_id) where resource_id is not null;
-- Whoever declines an invitation is deleted before having a session in the tenant.
grant select (tenant_id, user_id), delete on contact_links to atrium_credential;

-- ---------------------------------------------------------------- people and tenants

alter table users add column phone text;
comment on column users.phone is 'E.164, as the person gave it.';
alter table tenants add column suspended_at timestamptz(3);
alter table tenants add column deletes_at timestamptz(3);
comment on column tenants.deletes_at is 'When a deletion that was asked for is carried out; until then it can be taken back.';

-- The directories are looked up by other keys; a tenant that ends takes its rows out of them.
create index memberships_by_tenant on memberships (tenant_id);
create index tenant_domains_by_tenant on tenant_domains (tenant_id);
create index api_key_directory_by_tenant on api_key_directory (tenant_id);
create index app_account_directory_by_tenant on app_account_directory (tenant_id);
create index users_by_name on users (tenant_id, lower(display_name), id);

-- ---------------------------------------------------------------- who may see what

alter table categories enable row level security;
alter table categories force row level security;
create policy own_tenant on categories using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table category_links enable row level security;
alter table category_links force row level security;
create policy own_tenant on category_links using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table tenant_storage enable row level security;
alter table tenant_storage force row level security;
create policy own_tenant on tenant_storage using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table files enable row level security;
alter table files force row level security;
create policy own_tenant on files using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table calendar_events enable row level security;
alter table calendar_events force row level security;
create policy own_tenant on calendar_events using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table calendar_bookings enable row level security;
alter table calendar_bookings force row level security;
create policy own_tenant on calendar_bookings using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

create policy platform_read on tenant_storage for select to atrium_platform using (true);
create policy platform_unsettled on files for select to atrium_platform using (true);
create policy platform_change on tenants for update to atrium_platform using (true) with check (true);

grant select, insert, update, delete on categories to atrium_tenant;
grant select, insert, delete on category_links to atrium_tenant;
grant update (category_id) on category_links to atrium_tenant;
grant select, insert, update on tenant_storage to atrium_tenant;
grant select on tenant_storage to atrium_platform;
grant select, insert, update, delete on files to atrium_tenant;
grant select (tenant_id, id, status, lease_ends_at) on files to atrium_platform;
grant select, insert, update, delete on calendar_events to atrium_tenant;
grant select, insert, update, delete on calendar_bookings to atrium_tenant;
grant update (status, suspended_at, deletes_at, updated_at) on tenants to atrium_platform;

-- ---------------------------------------------------------------- the end of a tenant: whose rows one role may delete
-- The files table is left out: its rows go after their objects, and whoever deletes those deletes the rows.

create policy purge on memberships to atrium_purge using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy purge on tenant_domains to atrium_purge using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy purge on refresh_tokens to atrium_purge using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy purge on api_key_directory to atrium_purge using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy purge on app_account_directory to atrium_purge using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

grant select, delete on calendar_bookings to atrium_purge;
grant select, delete on calendar_events to atrium_purge;
grant select, delete on category_links to atrium_purge;
grant select, delete on categories to atrium_purge;
grant select, delete on contact_links to atrium_purge;
grant select, delete on contacts to atrium_purge;
grant select, delete on space_tags to atrium_purge;
grant select, delete on resource_tags to atrium_purge;
grant select, delete on tags to atrium_purge;
grant select, delete on feedbacks to atrium_purge;
grant select, delete on qr_codes to atrium_purge;
grant select, delete on resources to atrium_purge;
grant select, delete on spaces to atrium_purge;
grant select, delete on type_definitions to atrium_purge;
grant select, delete on group_members to atrium_purge;
grant select, delete on groups to atrium_purge;
grant select, delete on api_key_directory to atrium_purge;
grant select, delete on api_keys to atrium_purge;
grant select, delete on app_account_directory to atrium_purge;
grant select, delete on app_accounts to atrium_purge;
grant select, delete on identity_providers to atrium_purge;
grant select, delete on connectors to atrium_purge;
grant select, delete on credential_totals to atrium_purge;
grant select, delete on credential_usage to atrium_purge;
grant select, delete on refresh_tokens to atrium_purge;
grant select, delete on sessions to atrium_purge;
grant select, delete on memberships to atrium_purge;
grant select, delete on users to atrium_purge;
grant select, delete on tenant_domains to atrium_purge;
grant select, delete on row_counts to atrium_purge;
grant select, delete on tenant_storage to atrium_purge;
grant select, delete on audit_logs to atrium_purge;
grant select (tenant_id, id, status), update (status, lease_ends_at) on files to atrium_purge;
grant update (name, domain, settings) on tenants to atrium_platform;
