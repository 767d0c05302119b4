-- Operation of the installation: settings and keys, logs and statistics, rules for addresses, security events, scheduled jobs.

-- ---------------------------------------------------------------- settings and keys

create table installation_settings (
  name text primary key,
  id uuid not null,
  value jsonb not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  updated_by uuid
);
comment on table installation_settings is 'Settings that system administrators change at run time; every process reads them again after a NOTIFY.';

grant select, insert, update on installation_settings to atrium_platform;

create table installation_keys (
  name text primary key,
  wrapped_key text not null,
  created_at timestamptz(3) not null,
  wrapped_at timestamptz(3) not null
);
comment on table installation_keys is 'The key that encrypts secrets at rest, itself encrypted with ENCRYPTION_KEY: a new ENCRYPTION_KEY changes one row.';

grant select, insert, update on installation_keys to atrium_credential;

-- ---------------------------------------------------------------- application logs
-- Lines are written many at a time, as arrays. Indexes other than the primary key are small, because each entry of a B-tree
-- costs PostgreSQL as much as the line itself.

create table application_logs (
  logged_at timestamptz(3) not null,
  id uuid not null,
  level smallint not null,
  service text not null,
  message text not null,
  concerned_tenant_id uuid,
  user_id uuid,
  request_id text collate "C",
  context text not null,
  primary key (logged_at, id)
) partition by range (logged_at);
comment on table application_logs is 'Lines of the log. Daily partitions; old ones are dropped whole.';
comment on column application_logs.level is 'Numbers of pino: 10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal.';
comment on column application_logs.context is 'JSON as text, exactly as it was written.';

create table application_logs_default partition of application_logs default;
create index application_logs_by_level on application_logs (level, logged_at) where level <> 30;
create index application_logs_by_request on application_logs using brin (request_id) with (pages_per_range = 16, autosummarize = on);
create index application_logs_by_subject on application_logs
  using brin (service text_bloom_ops, concerned_tenant_id uuid_bloom_ops, user_id uuid_bloom_ops)
  with (pages_per_range = 16, autosummarize = on);
comment on index application_logs_by_level is 'Without info, the level of nearly all lines.';
comment on index application_logs_by_request is 'Request ids are in the order of time, so a range of pages has few of them.';
comment on index application_logs_by_subject is 'Finds the pages that may name a service, tenant or user.';

grant select, insert on application_logs to atrium_platform;

create table log_archives (
  name text primary key,
  id uuid not null,
  day date not null,
  object_key text not null,
  record_count bigint,
  size_bytes bigint,
  first_line_at timestamptz(3),
  first_line uuid,
  created_at timestamptz(3) not null
);
create index log_archives_by_day on log_archives (day, name);
comment on table log_archives is 'Files with the log of one day, written before that day is purged. A file without a row does not count.';
comment on column log_archives.size_bytes is 'Null until the file is complete; an incomplete file is removed and written again.';
comment on column log_archives.record_count is 'Number of lines in the file; the file is complete if the day has as many.';
comment on column log_archives.first_line is 'First line in the file. Days are purged whole: while this line is in the log, all of them are.';

grant select, insert, update, delete on log_archives to atrium_platform;

create table log_exports (
  name text primary key,
  id uuid not null,
  size_bytes bigint,
  record_count bigint,
  created_by uuid,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
comment on table log_exports is 'Files in the export store. A file without a row does not count.';
comment on column log_exports.size_bytes is 'Null until the file is complete; an interrupted export is removed like an expired one.';

grant select, insert, update, delete on log_exports to atrium_platform;

-- ---------------------------------------------------------------- statistics

create table log_hours (
  hour timestamptz(3) not null,
  service text not null,
  level smallint not null,
  lines bigint not null,
  bytes bigint not null,
  primary key (hour, service, level)
);
comment on table log_hours is 'Number and size of log lines; the cost of a change of the log configuration is estimated from it.';

grant select, insert, update, delete on log_hours to atrium_platform;

create table request_minutes (
  minute timestamptz(3) not null,
  bucket smallint not null,
  requests bigint not null,
  errors bigint not null,
  primary key (minute, bucket)
);
comment on table request_minutes is 'Durations of requests, as a histogram per minute over all processes.';

grant select, insert, update, delete on request_minutes to atrium_platform;

create table tenant_request_hours (
  hour timestamptz(3) not null,
  concerned_tenant_id uuid not null,
  requests bigint not null,
  errors bigint not null,
  primary key (hour, concerned_tenant_id)
);

grant select, insert, update, delete on tenant_request_hours to atrium_platform;

create table error_hours (
  hour timestamptz(3) not null,
  message text not null,
  errors bigint not null,
  last_at timestamptz(3) not null,
  primary key (hour, message)
);

grant select, insert, update, delete on error_hours to atrium_platform;

-- ---------------------------------------------------------------- addresses and security events

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
comment on column ip_rules.range is 'Address or CIDR range in canonical form.';

grant select, insert, update, delete on ip_rules to atrium_platform;

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
comment on table security_events is 'Events that a system administrator monitors over all tenants, including callers without a tenant.';

grant select, insert, delete on security_events to atrium_platform;

-- ---------------------------------------------------------------- scheduled jobs

create table jobs (
  name text primary key,
  enabled boolean not null default true,
  schedule text,
  timezone text,
  catch_up text check (catch_up in ('skip', 'run_once', 'all')),
  known_since timestamptz(3) not null,
  handled_until timestamptz(3) not null,
  handled_schedule text not null,
  consecutive_failures integer not null default 0,
  last_error text,
  updated_at timestamptz(3) not null
);
comment on table jobs is 'State of the jobs that the code defines: settings of the operator, and the slots of the schedule that were handled.';
comment on column jobs.schedule is 'Cron expression; null for that of the code. timezone and catch_up likewise.';
comment on column jobs.known_since is 'Slots before this instant are never caught up on.';
comment on column jobs.handled_until is 'Slots up to here were run, or skipped on purpose.';
comment on column jobs.handled_schedule is 'Expression and time zone that handled_until refers to: slots of another schedule are not caught up on.';

grant select, insert, update, delete on jobs to atrium_platform;

create table job_runs (
  id uuid primary key,
  job_name text not null,
  slot timestamptz(3),
  dispatch_id uuid,
  trigger text not null check (trigger in ('schedule', 'catch_up', 'manual')),
  status text not null check (status in ('running', 'succeeded', 'failed')),
  attempt integer not null default 1,
  started_at timestamptz(3) not null,
  lease_until timestamptz(3) not null,
  completed_at timestamptz(3),
  abandoned boolean not null default false,
  error text,
  output jsonb,
  constraint job_runs_slot_key unique (job_name, slot)
);
create unique index job_runs_running on job_runs (job_name) where status = 'running';
create index job_runs_abandoned on job_runs (job_name, slot) where abandoned;
create index job_runs_by_start on job_runs (started_at, id);
create index job_runs_by_job on job_runs (job_name, started_at, id);
comment on column job_runs.slot is 'Time of the schedule that the run is for; null for a manual run. One process runs each slot.';
comment on column job_runs.lease_until is 'End of the lease, by the clock of the database. The process that runs the job extends it; after its end that process is gone.';
comment on column job_runs.abandoned is 'The process ended before the run did; the slot is retried.';
comment on index job_runs_running is 'One run of a job at a time; an abandoned run may still be in its last step.';

grant select, insert, update, delete on job_runs to atrium_platform;

create table dispatches (
  id uuid primary key,
  trigger text not null check (trigger in ('external', 'internal')),
  started_at timestamptz(3) not null,
  completed_at timestamptz(3),
  jobs_executed integer not null default 0,
  jobs_failed integer not null default 0,
  jobs_skipped integer not null default 0,
  alerts_sent integer not null default 0,
  health jsonb
);
create index dispatches_by_start on dispatches (started_at, id);

grant select, insert, update, delete on dispatches to atrium_platform;

create table dispatcher_alerts (
  id uuid primary key,
  type text not null check (type in ('job_failed', 'job_missed', 'job_slow', 'service_unhealthy', 'unauthorized_calls')),
  subject text not null,
  severity text not null check (severity in ('info', 'warning', 'critical')),
  title text not null,
  message text not null,
  occurrences integer not null default 1,
  acknowledged boolean not null default false,
  acknowledged_by uuid,
  acknowledged_at timestamptz(3),
  created_at timestamptz(3) not null,
  last_seen_at timestamptz(3) not null,
  resolved_at timestamptz(3)
);
create unique index dispatcher_alerts_open on dispatcher_alerts (type, subject) where resolved_at is null;
create index dispatcher_alerts_by_time on dispatcher_alerts (created_at, id);

grant select, insert, update, delete on dispatcher_alerts to atrium_platform;

select app_reserve_tables('atrium_credential', 'installation_keys');
select app_reserve_tables(
  'atrium_platform', 'installation_settings', 'application_logs', 'log_archives', 'log_exports', 'log_hours', 'request_minutes',
  'tenant_request_hours', 'error_hours', 'ip_rules', 'security_events', 'jobs', 'job_runs', 'dispatches', 'dispatcher_alerts');
