-- What a tenant asks its people to do, and the evidence of what they did.

create table flow_tasks (
  tenant_id uuid not null,
  id uuid not null,
  type text not null check (type in ('agb', 'profile', 'kyc', 'avatar', 'phone_verification', 'email_verification', 'custom')),
  name text not null,
  target_route text not null,
  priority bigint not null check (priority >= 0),
  is_mandatory boolean not null,
  is_active boolean not null,
  version text,
  config jsonb not null,
  i18n jsonb not null,
  resets integer not null default 0 check (resets >= 0),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
comment on table flow_tasks is 'What the people of a tenant are asked to do, the lowest priority first.';
comment on column flow_tasks.version is 'Of what is agreed to: what was completed in another version is open again.';
comment on column flow_tasks.config is 'Free; audience, from, until, repeatEveryDays, and fields of a profile have a meaning and were checked.';
comment on column flow_tasks.resets is 'How often it was opened again for all: what was completed before the last time does not count.';

create table flow_task_completions (
  tenant_id uuid not null,
  id uuid not null,
  task_id uuid not null,
  user_id uuid not null,
  outcome text not null check (outcome in ('completed', 'skipped')),
  source text not null check (source in ('person', 'automatic')),
  task_type text not null,
  task_name text not null,
  version text,
  resets integer not null,
  round integer not null check (round >= 0),
  language text,
  text_hash text not null,
  answers jsonb,
  ip_address text,
  user_agent text,
  session_id uuid not null,
  completed_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint flow_task_completions_once unique nulls not distinct (tenant_id, user_id, task_id, outcome, resets, version, round)
);
create index flow_task_completions_by_task on flow_task_completions (tenant_id, task_id, id);
comment on table flow_task_completions is 'Evidence: rows are only ever added. Without a foreign key, as it outlives the task that it is about.';
comment on column flow_task_completions.source is 'automatic: what was asked for turned out to be done already.';
comment on column flow_task_completions.task_name is 'As it was called then, as was its type.';
comment on column flow_task_completions.resets is 'flow_tasks.resets at that time; it counts only while that is the same.';
comment on column flow_task_completions.round is 'Counts on where a task is to be repeated, from 0.';
comment on column flow_task_completions.language is 'That of the title as it was shown; null where nothing but the name of the task was there.';
comment on column flow_task_completions.text_hash is 'SHA-256 of the text as it was shown: title, description and text of the button as JSON.';
comment on column flow_task_completions.answers is 'What the client had to say about it.';

alter table flow_tasks enable row level security;
alter table flow_tasks force row level security;
create policy own_tenant on flow_tasks using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table flow_task_completions enable row level security;
alter table flow_task_completions force row level security;
create policy own_tenant on flow_task_completions using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

grant select, insert, update, delete on flow_tasks to atrium_tenant;
grant select, insert on flow_task_completions to atrium_tenant;
grant select, delete on flow_tasks to atrium_purge;
grant select, delete on flow_task_completions to atrium_purge;
