-- Running the installation: settings that change at run time, application logs, rules for addresses, scheduled jobs.

create table installation_settings (
  name text primary key,
  id uuid not null,
  value jsonb not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  updated_by uuid
);
comment on table installation_settings is 'What system administrators change while the service runs; every process reads it anew when told.';

-- ---------------------------------------------------------------- application logs

create table application_logs (
  logged_at timestamptz(3) not null,
  id uuid not null,
  level smallint not null,
  service text not null,
  message text not null,
  concerned_tenant_id uuid,
  user_id uuid,
  request_id text,
  context jsonb not null,
  primary key (logged_at, id)
) partition by range (logged_at);
create table application_logs_default partition of application_logs default;
create index application_logs_by_level on application_logs (level, logged_at) where level >= 40;
create index application_logs_by_tenant on application_logs (concerned_tenant_id, logged_at) where concerned_tenant_id is not null;
create index application_logs_by_request on application_logs (request_id, logged_at) where request_id is not null;
create index application_logs_by_service on application_logs (service, logged_at);
create index application_logs_by_user on application_logs (user_id, logged_at) where user_id is not null;
comment on table application_logs is 'Daily partitions; too old ones are dropped whole.';
comment on column application_logs.level is 'As pino numbers them: 10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal.';

create table log_hours (
  hour timestamptz(3) not null,
  service text not null,
  level smallint not null,
  lines bigint not null,
  bytes bigint not null,
  primary key (hour, service, level)
);
comment on table log_hours is 'How much was logged; what a change of the configuration would cost is reckoned from it.';

create table request_minutes (
  minute timestamptz(3) not null,
  bucket smallint not null,
  requests bigint not null,
  errors bigint not null,
  primary key (minute, bucket)
);
comment on table request_minutes is 'How long requests took, as a histogram per minute over all processes.';

create table tenant_request_hours (
  hour timestamptz(3) not null,
  concerned_tenant_id uuid not null,
  requests bigint not null,
  errors bigint not null,
  primary key (hour, concerned_tenant_id)
);

create table error_hours (
  hour timestamptz(3) not null,
  message text not null,
  errors bigint not null,
  last_at timestamptz(3) not null,
  primary key (hour, message)
);

create table log_exports (
  name text primary key,
  id uuid not null,
  size_bytes bigint,
  record_count bigint,
  created_by uuid,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
comment on table log_exports is 'What the export store holds; a name that is not here is no file.';
comment on column log_exports.size_bytes is 'Null until the file is complete: a broken export is removed like an expired one.';

-- ---------------------------------------------------------------- addresses

create table ip_rules (
  id uuid primary key,
  range text not null,
  action text not null check (action in ('allow', 'block')),
  source text not null check (source in ('manual', 'automatic')),
  reason text,
  expires_at timestamptz(3),
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint ip_rules_range_key unique (range)
);
comment on column ip_rules.range is 'An address or CIDR range in canonical form.';

-- ---------------------------------------------------------------- who may see what

alter table installation_settings enable row level security;
alter table installation_settings force row level security;
create policy platform on installation_settings to atrium_platform using (true) with check (true);
alter table application_logs enable row level security;
alter table application_logs force row level security;
create policy platform on application_logs to atrium_platform using (true) with check (true);
alter table log_hours enable row level security;
alter table log_hours force row level security;
create policy platform on log_hours to atrium_platform using (true) with check (true);
alter table request_minutes enable row level security;
alter table request_minutes force row level security;
create policy platform on request_minutes to atrium_platform using (true) with check (true);
alter table tenant_request_hours enable row level security;
alter table tenant_request_hours force row level security;
create policy platform on tenant_request_hours to atrium_platform using (true) with check (true);
alter table error_hours enable row level security;
alter table error_hours force row level security;
create policy platform on error_hours to atrium_platform using (true) with check (true);
alter table log_exports enable row level security;
alter table log_exports force row level security;
create policy platform on log_exports to atrium_platform using (true) with check (true);
alter table ip_rules enable row level security;
alter table ip_rules force row level security;
create policy platform on ip_rules to atrium_platform using (true) with check (true);

grant select, insert, update on installation_settings to atrium_platform;
grant select, insert on application_logs to atrium_platform;
grant select, insert, update, delete on log_hours to atrium_platform;
grant select, insert, update, delete on request_minutes to atrium_platform;
grant select, insert, update, delete on tenant_request_hours to atrium_platform;
grant select, insert, update, delete on error_hours to atrium_platform;
grant select, insert, update, delete on log_exports to atrium_platform;
grant select, insert, update, delete on ip_rules to atrium_platform;
