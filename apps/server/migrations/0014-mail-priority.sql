-- Mails that somebody waits for go before notices, and what will never arrive is given up.

alter table mail_outbox add column priority smallint not null default 0;
alter table mail_outbox add column given_up_at timestamptz(3);
comment on column mail_outbox.priority is 'What is lower goes first: 0 what somebody waits for, such as a code; 1 critical notices; 2 notices.';
comment on column mail_outbox.given_up_at is 'When the mail server refused it for good, or the last of all attempts failed; the body is gone then.';
drop index mail_outbox_due;
create index mail_outbox_due on mail_outbox (priority, next_attempt_at) where sent_at is null and given_up_at is null;

alter table push_subscriptions add column renewed_at timestamptz(3) not null default now();
comment on column push_subscriptions.renewed_at is 'When the browser last said that it is there; who has too many loses the one that has not for longest.';
