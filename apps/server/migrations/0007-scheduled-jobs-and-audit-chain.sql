-- Scheduled jobs with their history and alerts; a chain over the audit trail that shows whether anything of it was changed.

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
comment on table jobs is 'What is known of a job beyond its code: an operator''s wishes, and how far its schedule was worked off.';
comment on column jobs.schedule is 'A cron expression; null means the one of the code. The same holds for timezone and catch_up.';
comment on column jobs.known_since is 'A job is never caught up on for a time before it existed.';
comment on column jobs.handled_until is 'Slots up to here were run, or skipped on purpose.';
comment on column jobs.handled_schedule is 'The expression and time zone that handled_until is of: slots of another schedule are not caught up on.';

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
comment on column job_runs.slot is 'The time of the schedule that the run is for; null for one that was asked for. Each slot is run by one process only.';
comment on column job_runs.lease_until is 'The process that runs it moves this on; once it lies in the past, that process is gone. By the clock of the database.';
comment on column job_runs.abandoned is 'The process was gone before the end, and the slot is to be tried again.';
comment on index job_runs_running is 'One run of a job is under way at a time; one that was given up may still be at its last step.';

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

alter table jobs enable row level security;
alter table jobs force row level security;
create policy platform on jobs to atrium_platform using (true) with check (true);
alter table job_runs enable row level security;
alter table job_runs force row level security;
create policy platform on job_runs to atrium_platform using (true) with check (true);
alter table dispatches enable row level security;
alter table dispatches force row level security;
create policy platform on dispatches to atrium_platform using (true) with check (true);
alter table dispatcher_alerts enable row level security;
alter table dispatcher_alerts force row level security;
create policy platform on dispatcher_alerts to atrium_platform using (true) with check (true);

grant select, insert, update, delete on jobs to atrium_platform;
grant select, insert, update, delete on job_runs to atrium_platform;
grant select, insert, update, delete on dispatches to atrium_platform;
grant select, insert, update, delete on dispatcher_alerts to atrium_platform;

-- ---------------------------------------------------------------- application logs

-- Nearly all lines are those of requests: an index of their service would be written for each of them and used for none.
drop index application_logs_by_service;
create index application_logs_by_service on application_logs (service, logged_at) where service <> 'http';

-- ---------------------------------------------------------------- audit trail

create table audit_chains (
  tenant_id uuid not null,
  slot smallint not null,
  length bigint not null,
  head bytea not null,
  primary key (tenant_id, slot)
) with (fillfactor = 50);
comment on table audit_chains is 'Where each of a tenant''s chains of audit rows ends. Half of each page stays free, so that an update stays on its page.';
comment on column audit_chains.slot is 'A request writes to one of several chains, so that writers rarely wait for each other.';
comment on column audit_chains.head is 'The chain_hash of the last row; of the first row the hash is the digest itself.';

alter table audit_logs add column chain_slot smallint;
alter table audit_logs add column chain_position bigint;
alter table audit_logs add column chain_hash bytea;
comment on column audit_logs.chain_slot is 'Null in rows that were written before there were chains.';
comment on column audit_logs.chain_hash is 'SHA-256 over the hash of the row before it in the chain and the digest of this row''s content.';
create index audit_logs_by_chain on audit_logs (tenant_id, chain_slot, chain_position) where chain_slot is not null;
create index audit_logs_unchained on audit_logs (tenant_id, created_at) where chain_slot is null;
create index audit_logs_by_action on audit_logs (tenant_id, action text_pattern_ops, created_at);
create index audit_logs_by_type on audit_logs (tenant_id, resource_type, created_at);
create index audit_logs_by_address on audit_logs (tenant_id, ip_address, created_at) where ip_address is not null;

alter table audit_chains enable row level security;
alter table audit_chains force row level security;
create policy own_tenant on audit_chains using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
grant select, insert, update on audit_chains to atrium_tenant, atrium_credential, atrium_platform;
grant select, delete on audit_chains to atrium_purge;
