-- Tenants take equal shares of the mail server: one with thousands of mails must not delay the single mail of another.

alter table mail_outbox add column owner_id uuid not null default '00000000-0000-0000-0000-000000000000';
comment on column mail_outbox.owner_id is 'Tenant whose share of the delivery the mail uses; the nil UUID where no tenant asked for it.';
drop index mail_outbox_due;
create index mail_outbox_due on mail_outbox (priority, owner_id, next_attempt_at) where sent_at is null and given_up_at is null;
