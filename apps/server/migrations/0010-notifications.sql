-- What people are told, over which channels, and why or why not.

alter table users add column timezone text;
comment on column users.timezone is 'Of the time zone database; null where the person has named none, which counts as UTC.';

create table notification_preferences (
  tenant_id uuid not null,
  id uuid not null,
  user_id uuid,
  scope text not null check (scope in ('tenant_default', 'user_override')),
  category text not null,
  channel text not null check (channel in ('in_app', 'push', 'email', 'sms', 'chatapp', 'webhook')),
  enabled boolean not null,
  quiet_hours jsonb not null,
  rules jsonb not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint notification_preferences_once unique nulls not distinct (tenant_id, user_id, category, channel),
  constraint notification_preferences_owner check ((scope = 'tenant_default') = (user_id is null))
);
comment on column notification_preferences.user_id is 'Null for what holds for everybody who has said nothing else.';
comment on column notification_preferences.category is 'A category, all below one (security.*), or all (*).';
comment on column notification_preferences.quiet_hours is 'Free; timezone, start, end, days, mode and exceptCritical have a meaning and were checked.';
comment on column notification_preferences.rules is 'Free; locked has a meaning and was checked.';

create table notices (
  tenant_id uuid not null,
  id uuid not null,
  client_key text,
  category text not null,
  title text not null,
  body text not null,
  i18n jsonb not null,
  link text,
  data jsonb not null,
  is_critical boolean not null,
  channels text[],
  audience jsonb not null,
  status text not null check (status in ('queued', 'done', 'cancelled', 'failed')),
  created_by uuid,
  last_user_id uuid,
  recipients integer not null check (recipients >= 0),
  attempts integer not null default 0 check (attempts >= 0),
  due_at timestamptz(3) not null default date_trunc('milliseconds', now()),
  created_at timestamptz(3) not null,
  completed_at timestamptz(3),
  primary key (tenant_id, id),
  constraint notices_once unique (tenant_id, client_key)
);
create index notices_queued on notices (tenant_id, is_critical desc, due_at, id) where status = 'queued';
create index notices_sent on notices (tenant_id, id) where created_by is not null;
create index notices_completed on notices (tenant_id, completed_at) where completed_at is not null;
comment on table notices is 'What is told to an audience; each of its people gets a notification of it.';
comment on column notices.client_key is 'What the sender calls it, so that sending it again sends nothing; null where it has no such name.';
comment on column notices.channels is 'Those that it may take; null for all.';
comment on column notices.audience is '{"everyone":true}, or userIds, groupIds or both.';
comment on column notices.created_by is 'Null where the service itself speaks.';
comment on column notices.last_user_id is 'How far its audience has got a notification, in the order of their ids.';
comment on column notices.attempts is 'Those that came to nothing since the last of its people were told.';
comment on column notices.due_at is 'When its next people are to be told, by the clock of the database: the longest due has its turn.';

create table notifications (
  tenant_id uuid not null,
  id uuid not null,
  notice_id uuid not null,
  user_id uuid not null,
  category text not null,
  language text,
  created_at timestamptz(3) not null,
  inbox_at timestamptz(3),
  read_at timestamptz(3),
  dismissed_at timestamptz(3),
  primary key (tenant_id, id),
  constraint notifications_once unique (tenant_id, notice_id, user_id),
  constraint notifications_notice foreign key (tenant_id, notice_id) references notices (tenant_id, id) on delete cascade
);
create index notifications_inbox on notifications (tenant_id, user_id, inbox_at desc, id desc) where inbox_at is not null and dismissed_at is null;
create index notifications_unread on notifications (tenant_id, user_id) where inbox_at is not null and read_at is null and dismissed_at is null;
comment on table notifications is 'What one person was told; its texts are those of the notice.';
comment on column notifications.language is 'That of notices.i18n in which the person gets it; null for the texts of the notice itself.';
comment on column notifications.inbox_at is 'Since when it is in the inbox; null where it is not, or not yet.';

create table notification_deliveries (
  tenant_id uuid not null,
  id uuid not null,
  notification_id uuid not null,
  notice_id uuid not null,
  user_id uuid not null,
  category text not null,
  is_critical boolean not null,
  channel text not null check (channel in ('in_app', 'push', 'email', 'sms', 'chatapp', 'webhook')),
  status text not null check (status in ('queued', 'sending', 'sent', 'failed', 'suppressed')),
  reason text not null,
  layer text not null check (layer in ('locked', 'user_override', 'tenant_default', 'built_in')),
  preference_id uuid,
  due_at timestamptz(3) not null,
  attempts integer not null check (attempts >= 0),
  interruptions integer not null check (interruptions >= 0),
  claim uuid,
  claimed_until timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  sent_at timestamptz(3),
  primary key (tenant_id, id),
  constraint notification_deliveries_once unique (tenant_id, notification_id, channel),
  constraint notification_deliveries_notification foreign key (tenant_id, notification_id) references notifications (tenant_id, id) on delete cascade
);
create index notification_deliveries_due on notification_deliveries (tenant_id, channel, is_critical desc, due_at) where status in ('queued', 'sending');
create index notification_deliveries_taken on notification_deliveries (tenant_id, channel, claimed_until) where status = 'sending';
create index notification_deliveries_waiting on notification_deliveries (tenant_id, notice_id, id) where status = 'queued';
create index notification_deliveries_counts on notification_deliveries (tenant_id, notice_id, channel, status);
create index notification_deliveries_channel on notification_deliveries (tenant_id, channel, id);
create index notification_deliveries_status on notification_deliveries (tenant_id, status, id) where status <> 'sent';
create index notification_deliveries_notice on notification_deliveries (tenant_id, notice_id, id);
create index notification_deliveries_user on notification_deliveries (tenant_id, user_id, id);
comment on table notification_deliveries is 'The way of a notification over one channel, and why it took it or did not.';
comment on column notification_deliveries.reason is 'Why the status is what it is, in one word of a fixed set.';
comment on column notification_deliveries.layer is 'Which layer of preferences decided.';
comment on column notification_deliveries.preference_id is 'The preference that decided; null for what is built in.';
comment on column notification_deliveries.interruptions is 'Attempts whose end nobody saw: each may have reached the person all the same.';

create table push_subscriptions (
  tenant_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  endpoint_hash bytea not null,
  origin text not null,
  sealed text not null,
  user_agent text,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  primary key (tenant_id, id),
  constraint push_subscriptions_once unique (tenant_id, user_id, endpoint_hash)
);
create index push_subscriptions_endpoint on push_subscriptions (tenant_id, endpoint_hash);
comment on table push_subscriptions is 'Browsers that take Web Push messages (RFC 8030) for a person.';
comment on column push_subscriptions.sealed is 'Endpoint and keys, encrypted: whoever knows the endpoint can write to the browser.';
comment on column push_subscriptions.origin is 'Of the endpoint, for people to tell their browsers apart.';

create table push_keys (
  name text primary key,
  public_key text not null,
  sealed_private_key text not null,
  created_at timestamptz(3) not null
);
comment on table push_keys is 'As whom the installation speaks to push services (VAPID, RFC 8292).';

-- ---------------------------------------------------------------- who may what

alter table notification_preferences enable row level security;
alter table notification_preferences force row level security;
create policy own_tenant on notification_preferences using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table notices enable row level security;
alter table notices force row level security;
create policy own_tenant on notices using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform_read on notices for select to atrium_platform using (true);
alter table notifications enable row level security;
alter table notifications force row level security;
create policy own_tenant on notifications using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table notification_deliveries enable row level security;
alter table notification_deliveries force row level security;
create policy own_tenant on notification_deliveries using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy platform_read on notification_deliveries for select to atrium_platform using (true);
alter table push_subscriptions enable row level security;
alter table push_subscriptions force row level security;
create policy own_tenant on push_subscriptions using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table push_keys enable row level security;
alter table push_keys force row level security;
create policy platform on push_keys to atrium_platform using (true) with check (true);

grant select, insert, update, delete on notification_preferences to atrium_tenant;
grant select, insert, update, delete on notices to atrium_tenant;
grant insert on notices to atrium_credential;
grant select on notices to atrium_platform;
grant select, insert, update, delete on notifications to atrium_tenant;
grant select, insert, update, delete on notification_deliveries to atrium_tenant;
grant select on notification_deliveries to atrium_platform;
grant select, insert, update, delete on push_subscriptions to atrium_tenant;
grant select, insert on push_keys to atrium_platform;
grant select, delete on notification_preferences to atrium_purge;
grant select, delete on notices to atrium_purge;
grant select, delete on notifications to atrium_purge;
grant select, delete on notification_deliveries to atrium_purge;
grant select, delete on push_subscriptions to atrium_purge;
