-- Calls to outside providers: how providers do, who may use which and how much, what was called; translations and models.

-- ---------------------------------------------------------------- health of connectors

alter table connectors add column ejections integer not null default 0 check (ejections >= 0);
alter table connectors add column retry_at timestamptz(3);
alter table connectors add column probe_until timestamptz(3);
alter table connectors add column last_latency_ms integer;
comment on column connectors.ejections is 'How often it was switched off for its failures since it last did well; the pause before the next attempt grows with it.';
comment on column connectors.retry_at is 'Nobody calls it before then: it asked for patience (429), or was switched off for its failures.';
comment on column connectors.probe_until is 'Somebody is trying whether it has recovered, until then at most.';

create table connector_events (
  tenant_id uuid not null,
  id uuid not null,
  connector_id uuid not null,
  provider text not null,
  from_status text not null,
  to_status text not null,
  severity text not null check (severity in ('info', 'warning', 'error')),
  reason text not null,
  message text not null,
  occurred_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
create index connector_events_by_time on connector_events (tenant_id, occurred_at);
comment on table connector_events is 'Each change of a connector''s status, kept for 30 days. Without a foreign key: a deleted connector''s history stays.';
comment on column connector_events.provider is 'The api_key that the connector has, or had.';

-- ---------------------------------------------------------------- operations of a tenant

create table operation_overrides (
  tenant_id uuid not null,
  id uuid not null,
  operation_key text not null,
  enabled boolean not null,
  preferred_provider_order text[] not null default '{}',
  quota_ceiling jsonb not null default '{}',
  override_config jsonb not null default '{}',
  customer_credentials text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint operation_overrides_key unique (tenant_id, operation_key)
);
comment on table operation_overrides is 'What a tenant does differently; that of the system tenant is the rule for all, which a tenant can only tighten.';
comment on column operation_overrides.customer_credentials is 'Credentials of the tenant''s own as JSON, encrypted with the installation key.';

create table operation_quota (
  tenant_id uuid not null,
  operation_key text not null,
  unit text not null check (unit in ('requests', 'characters', 'tokens')),
  period text not null check (period in ('minute', 'day', 'month')),
  starts_at timestamptz(3) not null,
  used bigint not null check (used >= 0),
  primary key (tenant_id, operation_key, unit, period, starts_at)
) with (fillfactor = 50);
comment on table operation_quota is 'What a tenant has used of a ceiling in a period of UTC; rows exist where there is a ceiling.';

-- ---------------------------------------------------------------- calls

create table provider_calls (
  tenant_id uuid not null,
  called_at timestamptz(3) not null,
  id uuid not null,
  operation_key text not null,
  connector_id uuid not null,
  provider text not null,
  outcome text not null check (outcome in ('success', 'failure', 'rate_limited')),
  failure text,
  http_status smallint,
  latency_ms integer not null,
  own_credentials boolean not null,
  characters integer,
  tokens integer,
  request_id text,
  user_id uuid,
  primary key (tenant_id, called_at, id)
) partition by range (called_at);
create table provider_calls_default partition of provider_calls default;
create index provider_calls_by_operation on provider_calls (tenant_id, operation_key, called_at);
comment on table provider_calls is 'One row per attempt at a provider, never with content; daily partitions, kept for 30 days.';
comment on column provider_calls.tenant_id is 'For whom the call was made; the connector may be the installation''s.';
comment on column provider_calls.failure is 'What went wrong, in one of a few words.';

create table provider_call_hours (
  tenant_id uuid not null,
  hour timestamptz(3) not null,
  operation_key text not null,
  provider text not null,
  requests bigint not null,
  successes bigint not null,
  failures bigint not null,
  rate_limited bigint not null,
  cache_hits bigint not null,
  latency_ms bigint not null,
  characters bigint not null,
  tokens bigint not null,
  primary key (tenant_id, hour, operation_key, provider)
) with (fillfactor = 70);
comment on table provider_call_hours is 'The same added up per hour, kept for a year. requests = successes + failures + rate_limited.';
comment on column provider_call_hours.latency_ms is 'Sum over all requests.';

-- ---------------------------------------------------------------- translation

create table translation_memory (
  tenant_id uuid not null,
  key bytea not null,
  translation text not null,
  provider text not null,
  model text,
  created_at timestamptz(3) not null,
  primary key (tenant_id, key)
);
create index translation_memory_by_age on translation_memory (tenant_id, created_at);
comment on table translation_memory is 'What providers translated before, to be used again.';
comment on column translation_memory.key is 'SHA-256 over the version of the rules, source language, target language, kind of text and the text.';

create table translation_marks (
  tenant_id uuid not null,
  entity_type text not null check (entity_type in ('space', 'resource', 'tag', 'category')),
  entity_id uuid not null,
  language text not null,
  field text not null check (field in ('name', 'description')),
  source_language text,
  source_hash bytea not null,
  value_hash bytea not null,
  provider text not null,
  translated_at timestamptz(3) not null,
  primary key (tenant_id, entity_type, entity_id, language, field)
);
comment on table translation_marks is 'Which texts in translations_i18n a machine wrote, and from what. A text that does not fit its value_hash was edited by a person since.';
comment on column translation_marks.source_language is 'The translation that it was made from; null where it was the own text of the record.';
comment on column translation_marks.source_hash is 'SHA-256 of the text that it was made from.';

create table translation_jobs (
  tenant_id uuid not null,
  id uuid not null,
  entity_type text not null check (entity_type in ('space', 'resource', 'tag', 'category')),
  entity_ids uuid[],
  source_language text,
  target_languages text[],
  protect_human boolean not null default false,
  fingerprint bytea not null,
  status text not null check (status in ('running', 'completed', 'failed', 'cancelled')),
  languages text[] not null,
  languages_translated text[] not null default '{}',
  language_position integer not null default 0,
  last_entity_id uuid,
  entities_total integer not null,
  entities_translated integer not null default 0,
  counted_ids uuid[] not null default '{}',
  texts_failed integer not null default 0,
  batches_processed integer not null default 0,
  providers text[] not null default '{}',
  error text,
  failing_since timestamptz(3),
  claim uuid,
  lease_until timestamptz(3),
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  completed_at timestamptz(3),
  primary key (tenant_id, id)
);
create unique index translation_jobs_equal on translation_jobs (tenant_id, fingerprint) where status = 'running';
create index translation_jobs_by_status on translation_jobs (tenant_id, status, created_at);
comment on table translation_jobs is 'Translation of many entities, language by language; position and last entity are where it goes on after a stop.';
comment on column translation_jobs.target_languages is 'Null fills what is missing in the languages of the tenant.';
comment on column translation_jobs.fingerprint is 'SHA-256 of what was asked for: of equal jobs one is under way at a time.';
comment on column translation_jobs.counted_ids is 'Those of the batch under way that entities_translated holds already.';
comment on column translation_jobs.failing_since is 'Providers have done nothing but fail since; null once a batch is done.';
comment on column translation_jobs.claim is 'Of whoever works on it, until the lease is over or somebody else has taken it.';
comment on column translation_jobs.lease_until is 'Somebody works on it until then at most. By the clock of the database.';

-- ---------------------------------------------------------------- models

create table model_catalogs (
  tenant_id uuid not null,
  task text not null check (task in ('text', 'image')),
  models jsonb,
  provider text,
  source text,
  fetched_at timestamptz(3),
  refresh_until timestamptz(3),
  retry_at timestamptz(3),
  failures integer not null default 0 check (failures >= 0),
  primary key (tenant_id, task),
  constraint model_catalogs_whole check (num_nulls(models, provider, source, fetched_at) in (0, 4))
);
comment on table model_catalogs is 'The last list of models that a provider of the tenant gave; that of the system tenant serves all others.';
comment on column model_catalogs.models is 'Null until a provider has answered for the first time.';
comment on column model_catalogs.source is 'Id and address of the connector that the list is from; where the tenant has no such connector any more, the list counts for nothing.';
comment on column model_catalogs.refresh_until is 'Somebody asks a provider, until then at most.';
comment on column model_catalogs.retry_at is 'Nobody asks a provider before then for the sake of a list that is only old; grows with the failures.';

-- ---------------------------------------------------------------- encryption

create table installation_keys (
  name text primary key,
  wrapped_key text not null,
  created_at timestamptz(3) not null,
  wrapped_at timestamptz(3) not null
);
comment on table installation_keys is 'What encrypts secrets at rest, itself encrypted with ENCRYPTION_KEY: a change of that key is a change of one row.';

-- ---------------------------------------------------------------- who may what

alter table installation_keys enable row level security;
alter table installation_keys force row level security;
create policy credential on installation_keys to atrium_credential using (true) with check (true);
grant select, insert, update on installation_keys to atrium_credential;

alter table connector_events enable row level security;
alter table connector_events force row level security;
create policy own_tenant on connector_events using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform on connector_events to atrium_platform using (true);
alter table operation_overrides enable row level security;
alter table operation_overrides force row level security;
create policy own_tenant on operation_overrides using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform_read on operation_overrides for select to atrium_platform using (true);
alter table operation_quota enable row level security;
alter table operation_quota force row level security;
create policy own_tenant on operation_quota using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform_old on operation_quota to atrium_platform using (true);
alter table provider_calls enable row level security;
alter table provider_calls force row level security;
create policy own_tenant on provider_calls using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform on provider_calls to atrium_platform using (true) with check (true);
alter table provider_call_hours enable row level security;
alter table provider_call_hours force row level security;
create policy own_tenant on provider_call_hours using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform on provider_call_hours to atrium_platform using (true) with check (true);
alter table translation_memory enable row level security;
alter table translation_memory force row level security;
create policy own_tenant on translation_memory using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform_read on translation_memory for select to atrium_platform using (true);
alter table translation_marks enable row level security;
alter table translation_marks force row level security;
create policy own_tenant on translation_marks using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform_read on translation_marks for select to atrium_platform using (true);
alter table translation_jobs enable row level security;
alter table translation_jobs force row level security;
create policy own_tenant on translation_jobs using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform on translation_jobs to atrium_platform using (true);
alter table model_catalogs enable row level security;
alter table model_catalogs force row level security;
create policy own_tenant on model_catalogs using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform_read on model_catalogs for select to atrium_platform using (true);

grant select, insert on connector_events to atrium_tenant;
grant select, delete on connector_events to atrium_platform;
grant select, insert, update, delete on operation_overrides to atrium_tenant;
grant select on operation_overrides to atrium_platform;
grant select, insert, update on operation_quota to atrium_tenant;
grant select, delete on operation_quota to atrium_platform;
grant select on provider_calls to atrium_tenant;
grant select, insert on provider_calls to atrium_platform;
grant select on provider_call_hours to atrium_tenant;
grant select, insert, update, delete on provider_call_hours to atrium_platform;
grant select, insert, update, delete on translation_memory to atrium_tenant;
grant select on translation_memory to atrium_platform;
grant select, insert, update, delete on translation_marks to atrium_tenant;
grant select on translation_marks to atrium_platform;
grant select, insert, update on translation_jobs to atrium_tenant;
grant select, delete on translation_jobs to atrium_platform;
grant select, insert, update, delete on model_catalogs to atrium_tenant;
grant select on model_catalogs to atrium_platform;
grant select, delete on connector_events to atrium_purge;
grant select, delete on operation_overrides to atrium_purge;
grant select, delete on operation_quota to atrium_purge;
grant select, delete on provider_calls to atrium_purge;
grant select, delete on provider_call_hours to atrium_purge;
grant select, delete on translation_memory to atrium_purge;
grant select, delete on translation_marks to atrium_purge;
grant select, delete on translation_jobs to atrium_purge;
grant select, delete on model_catalogs to atrium_purge;
