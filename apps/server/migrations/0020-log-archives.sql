-- Days of the log that were written to the store of files before they were purged.
create table log_archives (
  name text primary key,
  id uuid not null,
  day date not null,
  object_key text not null,
  blocks bigint,
  record_count bigint,
  size_bytes bigint,
  first_block_at timestamptz(3),
  first_block uuid,
  created_at timestamptz(3) not null
);
create index log_archives_by_day on log_archives (day, name);
comment on table log_archives is 'Day files of the log. A name that is not here is no file.';
comment on column log_archives.size_bytes is 'Null until the file is complete: one that was begun only is removed and written once more.';
comment on column log_archives.blocks is 'How many blocks of the log the file holds; equal to those of the day, nothing of it is missing.';
comment on column log_archives.first_block is 'Of the blocks in the file. Days are purged whole: while this one is in the log, all of them are.';

alter table log_archives enable row level security;
alter table log_archives force row level security;
create policy platform on log_archives to atrium_platform using (true) with check (true);
grant select, insert, update, delete on log_archives to atrium_platform;
