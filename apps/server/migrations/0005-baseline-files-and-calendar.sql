-- Files with the storage quota of a tenant, and the calendar.

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
comment on column tenant_storage.reserved_bytes is 'Sum of the sizes of running uploads, reserved before the first byte is accepted.';

grant select, insert, update on tenant_storage to atrium_tenant;
grant select on tenant_storage to atrium_platform;

create policy platform_read on tenant_storage for select to atrium_platform using (true);

create table files (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  content_type text not null,
  size_bytes bigint not null check (size_bytes >= 0),
  sha256 text,
  status text not null check (status in ('uploading', 'stored', 'deleting')),
  lease_until timestamptz(3),
  space_id uuid,
  resource_id uuid,
  contact_id uuid,
  avatar_of uuid,
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint files_entity check (num_nonnulls(space_id, resource_id, contact_id, avatar_of) <= 1),
  constraint files_stored check ((status = 'stored') = (lease_until is null) and (status <> 'stored' or sha256 is not null)),
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
create index files_unsettled on files (tenant_id, lease_until) where status <> 'stored';
comment on table files is 'The row is written before the object and deleted after it, so that every object has a row even after a crash.';
comment on column files.lease_until is 'End of the lease, by the clock of the database. An upload or deletion that was interrupted is then cleaned up.';
comment on column files.avatar_of is 'User whose avatar the file is.';

grant select, insert, update, delete on files to atrium_tenant;
grant select (tenant_id, id, status, lease_until) on files to atrium_platform;
grant select (tenant_id, id, status), update (status, lease_until) on files to atrium_purge;

create policy platform_unsettled on files for select to atrium_platform using (true);

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
comment on column calendar_events.local_start is 'Local time in the time zone, `2026-03-29T09:00:00`; starts_at is derived from it.';
comment on column calendar_events.fold is 'Which of the two instants is meant when a local time occurs twice.';
comment on constraint calendar_events_length on calendar_events is '31 days of local time: an event that overlaps a range starts at most this long before it.';

grant select, insert, update, delete on calendar_events to atrium_tenant;

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
comment on table calendar_bookings is 'Spaces, resources and users that an event occupies. Times are half-open, so one event may start when another ends.';

grant select, insert, update, delete on calendar_bookings to atrium_tenant;

select app_protect_tenant_tables('tenant_storage', 'files', 'calendar_events', 'calendar_bookings');
