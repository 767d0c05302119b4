-- Outside providers: connectors and their health, overrides and quotas of tenants, calls; translation and lists of models.

-- ---------------------------------------------------------------- connectors

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
  ejections integer not null default 0 check (ejections >= 0),
  retry_at timestamptz(3),
  lease_until timestamptz(3),
  last_latency_ms integer,
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
comment on column connectors.api_key is 'Identifier of the provider, not a secret (specification, "External API provider connector").';
comment on column connectors.auth_config is 'Credentials as JSON, encrypted with the installation key.';
comment on column connectors.ejections is 'How many times failures disabled it since it last recovered; the pause before the next attempt grows with it.';
comment on column connectors.retry_at is 'No call before this instant: the provider answered 429 with Retry-After, or failures disabled the connector.';
comment on column connectors.lease_until is 'End of the lease of the one call that tests whether the connector has recovered. By the clock of the service, as all times of the health state.';

grant select, insert, update, delete on connectors to atrium_tenant;
grant select on connectors to atrium_platform;

create policy platform_read on connectors for select to atrium_platform using (true);

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
comment on table connector_events is 'Each change of the status of a connector, kept for 30 days. Without a foreign key: the history of a deleted connector remains.';
comment on column connector_events.provider is 'api_key of the connector at that time.';

grant select, insert on connector_events to atrium_tenant;
grant select, delete on connector_events to atrium_platform;

create policy platform on connector_events to atrium_platform using (true);

-- ---------------------------------------------------------------- overrides and quotas of a tenant

create table operation_overrides (
  tenant_id uuid not null,
  id uuid not null,
  operation_key text not null,
  enabled boolean not null,
  preferred_provider_order text[] not null default '{}',
  quota_limits jsonb not null default '{}',
  override_config jsonb not null default '{}',
  customer_credentials text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint operation_overrides_key unique (tenant_id, operation_key)
);
comment on table operation_overrides is 'Overrides of a tenant. Those of the system tenant apply to all tenants, and a tenant can only tighten them.';
comment on column operation_overrides.quota_limits is 'Quota limits by key, for example {"requests_per_day": 1000}.';
comment on column operation_overrides.customer_credentials is 'Credentials of the tenant as JSON, encrypted with the installation key.';

grant select, insert, update, delete on operation_overrides to atrium_tenant;
grant select on operation_overrides to atrium_platform;

create policy platform_read on operation_overrides for select to atrium_platform using (true);

create table operation_quota (
  tenant_id uuid not null,
  operation_key text not null,
  unit text not null check (unit in ('requests', 'characters', 'tokens')),
  period text not null check (period in ('minute', 'day', 'month')),
  starts_at timestamptz(3) not null,
  used bigint not null check (used >= 0),
  primary key (tenant_id, operation_key, unit, period, starts_at)
) with (fillfactor = 50);
comment on table operation_quota is 'Usage of a tenant in a period of UTC. Rows exist only where there is a quota limit.';

grant select, insert, update on operation_quota to atrium_tenant;
grant select, delete on operation_quota to atrium_platform;

create policy platform_old on operation_quota to atrium_platform using (true);

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
comment on column provider_calls.tenant_id is 'Tenant that the call was made for; the connector may belong to the installation.';
comment on column provider_calls.failure is 'Kind of failure, from a fixed set of words.';
comment on column provider_calls.own_credentials is 'True if the call used the credentials of the tenant.';

grant select on provider_calls to atrium_tenant;
grant select, insert on provider_calls to atrium_platform;

create policy platform on provider_calls to atrium_platform using (true) with check (true);

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
comment on table provider_call_hours is 'Sums of provider_calls per hour, kept for a year. requests = successes + failures + rate_limited.';
comment on column provider_call_hours.latency_ms is 'Sum over all requests.';

grant select on provider_call_hours to atrium_tenant;
grant select, insert, update, delete on provider_call_hours to atrium_platform;

create policy platform on provider_call_hours to atrium_platform using (true) with check (true);

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
comment on table translation_memory is 'Earlier results of providers, for reuse.';
comment on column translation_memory.key is 'SHA-256 over the version of the rules, source language, target language, kind of text and the text.';

grant select, insert, update, delete on translation_memory to atrium_tenant;
grant select on translation_memory to atrium_platform;

create policy platform_read on translation_memory for select to atrium_platform using (true);

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
comment on table translation_marks is 'Texts in translations_i18n that a provider wrote, with their source. A text that does not match value_hash was edited by a user since.';
comment on column translation_marks.source_language is 'Language of the translation that was the source; null if the text of the record itself was the source.';
comment on column translation_marks.source_hash is 'SHA-256 of the source text.';
comment on column translation_marks.value_hash is 'SHA-256 of the text that the provider wrote.';

grant select, insert, update, delete on translation_marks to atrium_tenant;
grant select on translation_marks to atrium_platform;

create policy platform_read on translation_marks for select to atrium_platform using (true);

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
comment on table translation_jobs is 'Translation of many entities, language by language. language_position and last_entity_id are the cursor of the next batch.';
comment on column translation_jobs.target_languages is 'Null fills missing texts in all languages of the tenant.';
comment on column translation_jobs.fingerprint is 'SHA-256 of the request: of equal jobs only one runs at a time.';
comment on column translation_jobs.counted_ids is 'Entities of the current batch that entities_translated already contains.';
comment on column translation_jobs.failing_since is 'Since when all calls to providers have failed; null after a completed batch.';
comment on column translation_jobs.claim is 'Claim of the process that works on the job, valid until the lease ends or another process claims it.';
comment on column translation_jobs.lease_until is 'End of the lease, by the clock of the database.';

grant select, insert, update on translation_jobs to atrium_tenant;
grant select, delete on translation_jobs to atrium_platform;

create policy platform on translation_jobs to atrium_platform using (true);

-- ---------------------------------------------------------------- models

create table model_catalogs (
  tenant_id uuid not null,
  task text not null check (task in ('text', 'image')),
  models jsonb,
  provider text,
  source text,
  fetched_at timestamptz(3),
  lease_until timestamptz(3),
  retry_at timestamptz(3),
  failures integer not null default 0 check (failures >= 0),
  primary key (tenant_id, task),
  constraint model_catalogs_whole check (num_nulls(models, provider, source, fetched_at) in (0, 4))
);
comment on table model_catalogs is 'Latest list of models from a provider of the tenant; that of the system tenant serves all other tenants.';
comment on column model_catalogs.models is 'Null until a provider has answered for the first time.';
comment on column model_catalogs.source is 'Id and address of the connector that the list is from. The list is ignored when the tenant no longer has such a connector.';
comment on column model_catalogs.lease_until is 'End of the lease of the request that refreshes the list, by the clock of the database.';
comment on column model_catalogs.retry_at is 'No refresh of a stale list before this instant; the backoff grows with the failures.';

grant select, insert, update, delete on model_catalogs to atrium_tenant;
grant select on model_catalogs to atrium_platform;

create policy platform_read on model_catalogs for select to atrium_platform using (true);

select app_protect_tenant_tables(
  'connectors', 'connector_events', 'operation_overrides', 'operation_quota', 'provider_calls', 'provider_call_hours',
  'translation_memory', 'translation_marks', 'translation_jobs', 'model_catalogs');
