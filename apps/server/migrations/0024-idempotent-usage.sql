-- A batch whose acknowledgement was lost is written again and must not count twice.

alter table credential_totals add column batches jsonb not null default '{}';
comment on column credential_totals.batches is 'The last batch that each process has added, as milliseconds since 1970; without processes that stopped more than a day ago.';
