-- Messages to people: mail, notifications with their deliveries, Web Push, flow tasks.

-- ---------------------------------------------------------------- mail

create table mail_outbox (
  id uuid primary key,
  owner_id uuid not null default '00000000-0000-0000-0000-000000000000',
  recipient text not null,
  subject text not null,
  body text not null,
  priority smallint not null default 0,
  created_at timestamptz(3) not null,
  attempts integer not null default 0,
  queued boolean not null default true,
  next_attempt_at timestamptz(3) not null,
  expires_at timestamptz(3),
  sent_at timestamptz(3),
  given_up_at timestamptz(3),
  last_error text
);
-- A claim finds the next owner by one index lookup, however many owners wait for a retry.
create index mail_outbox_queued on mail_outbox (priority, owner_id, next_attempt_at) where queued and sent_at is null and given_up_at is null;
create index mail_outbox_delayed on mail_outbox (next_attempt_at) where not queued and sent_at is null and given_up_at is null;
comment on table mail_outbox is 'Outbox of the installation. Tenants take equal shares: a tenant with many mails must not delay the single mail of another.';
comment on column mail_outbox.owner_id is 'Tenant whose share of the delivery the mail uses; the nil UUID if it was not sent for a tenant.';
comment on column mail_outbox.body is 'Encrypted with the installation key: it may contain a one-time link.';
comment on column mail_outbox.priority is 'Lower values go first: 0 mails that a user waits for, such as codes; 1 critical notices; 2 other notices.';
comment on column mail_outbox.queued is 'The mail may be claimed. False during a claim and until the next attempt after a failure.';
comment on column mail_outbox.next_attempt_at is 'End of the claim or of the backoff, by the clock of the database: one column, so that one index finds both.';
comment on column mail_outbox.expires_at is 'Time after which the mail is not sent, because its link or code is no longer valid; null if it has none.';
comment on column mail_outbox.given_up_at is 'When the mail server refused the mail permanently, the last attempt failed, or the mail was cancelled or expired; the body is then removed.';

grant insert on mail_outbox to atrium_credential;
grant select, update, delete on mail_outbox to atrium_platform;

create policy credential on mail_outbox for insert to atrium_credential with check (true);

-- ---------------------------------------------------------------- notifications

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
comment on column notification_preferences.user_id is 'Null for the default of the tenant, which applies to users without an override.';
comment on column notification_preferences.category is 'One category, all categories below one (security.*), or all (*).';
comment on column notification_preferences.quiet_hours is 'Free-form; timezone, start, end, days, mode and exceptCritical are validated and have an effect.';
comment on column notification_preferences.rules is 'Free-form; locked is validated and has an effect.';

grant select, insert, update, delete on notification_preferences to atrium_tenant;

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
comment on table notices is 'A message to an audience; the fan-out creates one notification for each recipient.';
comment on column notices.client_key is 'Name chosen by the sender: a second notice with it is not sent. Null without such a name.';
comment on column notices.channels is 'Channels that the notice may use; null for all.';
comment on column notices.audience is '{"everyone":true}, or userIds, groupIds or both.';
comment on column notices.created_by is 'Null if the service itself is the sender.';
comment on column notices.last_user_id is 'Cursor of the fan-out: recipients are processed in the order of their ids.';
comment on column notices.attempts is 'Failed attempts since the last batch of recipients.';
comment on column notices.due_at is 'When the next batch of recipients is due, by the clock of the database; the notice that is due longest goes first.';

grant select, insert, update, delete on notices to atrium_tenant;
grant insert on notices to atrium_credential;
grant select on notices to atrium_platform;

create policy platform_read on notices for select to atrium_platform using (true);

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
comment on table notifications is 'A notice to one recipient; its texts are those of the notice.';
comment on column notifications.language is 'Language of notices.i18n that the recipient gets; null for the texts of the notice itself.';
comment on column notifications.inbox_at is 'When it was put into the inbox; null if it is not in the inbox.';

grant select, insert, update, delete on notifications to atrium_tenant;

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
  lease_until timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  sent_at timestamptz(3),
  primary key (tenant_id, id),
  constraint notification_deliveries_once unique (tenant_id, notification_id, channel),
  constraint notification_deliveries_notification foreign key (tenant_id, notification_id) references notifications (tenant_id, id) on delete cascade
);
create index notification_deliveries_due on notification_deliveries (tenant_id, channel, is_critical desc, due_at) where status in ('queued', 'sending');
create index notification_deliveries_taken on notification_deliveries (tenant_id, channel, lease_until) where status = 'sending';
create index notification_deliveries_waiting on notification_deliveries (tenant_id, notice_id, id) where status = 'queued';
create index notification_deliveries_counts on notification_deliveries (tenant_id, notice_id, channel, status);
create index notification_deliveries_channel on notification_deliveries (tenant_id, channel, id);
create index notification_deliveries_status on notification_deliveries (tenant_id, status, id) where status <> 'sent';
create index notification_deliveries_notice on notification_deliveries (tenant_id, notice_id, id);
create index notification_deliveries_user on notification_deliveries (tenant_id, user_id, id);
comment on table notification_deliveries is 'Attempts to deliver a notification over one channel, and why it is sent or not.';
comment on column notification_deliveries.reason is 'Reason for the status, from a fixed set of words.';
comment on column notification_deliveries.layer is 'Layer of preferences that decided.';
comment on column notification_deliveries.preference_id is 'Preference that decided; null for the built-in layer.';
comment on column notification_deliveries.interruptions is 'Attempts with an unknown outcome: each may have reached the recipient.';
comment on column notification_deliveries.lease_until is 'End of the lease, by the clock of the database.';

grant select, insert, update, delete on notification_deliveries to atrium_tenant;
grant select on notification_deliveries to atrium_platform;

create policy platform_read on notification_deliveries for select to atrium_platform using (true);

-- ---------------------------------------------------------------- Web Push

create table push_subscriptions (
  tenant_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  endpoint_hash bytea not null,
  origin text not null,
  sealed text not null,
  user_agent text,
  created_at timestamptz(3) not null,
  renewed_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  primary key (tenant_id, id),
  constraint push_subscriptions_once unique (tenant_id, user_id, endpoint_hash)
);
create index push_subscriptions_endpoint on push_subscriptions (tenant_id, endpoint_hash);
comment on table push_subscriptions is 'Browsers that receive Web Push messages (RFC 8030) for a user.';
comment on column push_subscriptions.origin is 'Origin of the endpoint, so that users can tell their browsers apart.';
comment on column push_subscriptions.sealed is 'Endpoint and keys, encrypted: with the endpoint anyone could send to the browser.';
comment on column push_subscriptions.renewed_at is 'When the browser last renewed it; above the limit per user, the oldest one is deleted.';

grant select, insert, update, delete on push_subscriptions to atrium_tenant;

create table push_keys (
  name text primary key,
  public_key text not null,
  sealed_private_key text not null,
  created_at timestamptz(3) not null
);
comment on table push_keys is 'Key pair that identifies the installation to push services (VAPID, RFC 8292).';

grant select, insert on push_keys to atrium_platform;

-- ---------------------------------------------------------------- flow tasks

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
comment on table flow_tasks is 'Tasks that the users of a tenant have to complete, the lowest priority first.';
comment on column flow_tasks.version is 'Version of the text to agree to; a completion of another version does not count.';
comment on column flow_tasks.config is 'Free-form; audience, from, until, repeatEveryDays and the fields of a profile are validated and have an effect.';
comment on column flow_tasks.resets is 'How many times the task was opened again for all users; completions before the last reset do not count.';

grant select, insert, update, delete on flow_tasks to atrium_tenant;

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
comment on table flow_task_completions is 'Evidence: rows are only added. Without a foreign key, because a completion outlives its task.';
comment on column flow_task_completions.source is 'automatic: the requested data was already present.';
comment on column flow_task_completions.task_name is 'Name of the task at that time; task_type likewise.';
comment on column flow_task_completions.resets is 'flow_tasks.resets at that time; the completion counts while both are equal.';
comment on column flow_task_completions.round is 'Number of the recurrence, from 0.';
comment on column flow_task_completions.language is 'Language of the displayed title; null if only the name of the task was displayed.';
comment on column flow_task_completions.text_hash is 'SHA-256 of the displayed text: title, description and text of the button as JSON.';
comment on column flow_task_completions.answers is 'Data that the client sent with the completion.';

grant select, insert on flow_task_completions to atrium_tenant;

select app_protect_tenant_tables(
  'notification_preferences', 'notices', 'notifications', 'notification_deliveries', 'push_subscriptions', 'flow_tasks',
  'flow_task_completions');
select app_reserve_tables('atrium_platform', 'mail_outbox', 'push_keys');
