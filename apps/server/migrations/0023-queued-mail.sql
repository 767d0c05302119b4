-- A claim finds the next owner by one index lookup, however many owners wait for a retry.

alter table mail_outbox add column queued boolean not null default true;
comment on column mail_outbox.queued is 'The mail may be claimed. False during a claim and until the next attempt after a failure.';
drop index mail_outbox_due;
create index mail_outbox_queued on mail_outbox (priority, owner_id, next_attempt_at) where queued and sent_at is null and given_up_at is null;
create index mail_outbox_delayed on mail_outbox (next_attempt_at) where not queued and sent_at is null and given_up_at is null;

set local role atrium_platform;
update mail_outbox set queued = false where sent_at is null and given_up_at is null and next_attempt_at > now();
reset role;
