-- Lines are written many at a time, and one row with its indexes for each of them cost PostgreSQL ten times what it costs to
-- keep them as they come: as the columns of a block. What is asked for is found by what a block says of its lines.
-- Nobody may write lines meanwhile that would go with the old table. Its one policy is for a role whose rights its owner need not
-- have, who would then find it empty.
lock table application_logs in access exclusive mode;
create policy owner on application_logs for select to current_user using (true);

create table log_blocks (
  first_at timestamptz(3) not null,
  id uuid not null,
  last_at timestamptz(3) not null,
  level smallint not null,
  lines integer not null,
  concerned uuid[] not null,
  parts text[] not null,
  first_request text collate "C",
  last_request text collate "C",
  times timestamptz[] not null,
  ids uuid[] not null,
  services text[] not null,
  messages text[] not null,
  tenant_ids uuid[] not null,
  user_ids uuid[] not null,
  request_ids text[] not null,
  contexts text[] not null,
  check (last_at between first_at and first_at + interval '1 minute'),
  primary key (first_at, id)
) partition by range (first_at);
comment on table log_blocks is 'Lines of one level and one minute at most, read through application_logs. Daily partitions; too old ones are dropped whole.';
comment on column log_blocks.level is 'As pino numbers them: 10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal.';
comment on column log_blocks.concerned is 'Tenants and users of its lines, each once.';
comment on column log_blocks.parts is 'Services of its lines, each once.';
comment on column log_blocks.first_request is 'The least id of a request among its lines; ids are in the order of time.';
comment on column log_blocks.contexts is 'JSON, kept as the text that it came as.';

-- To compress lines as they are written would take longer than all the rest.
alter table log_blocks
  alter times set storage external,
  alter ids set storage external,
  alter services set storage external,
  alter messages set storage external,
  alter tenant_ids set storage external,
  alter user_ids set storage external,
  alter request_ids set storage external,
  alter contexts set storage external;

create table log_blocks_default partition of log_blocks default;
-- A day at a time, because each is sorted.
do $$
declare
  day timestamptz;
begin
  for day in select distinct date_trunc('day', logged_at, 'UTC') from application_logs loop
    execute format(
      'create table log_blocks_%s partition of log_blocks for values from (%L) to (%L)',
      to_char(day at time zone 'UTC', 'YYYY_MM_DD'), day, day + interval '24 hours');
    insert into log_blocks
    select min(logged_at), (array_agg(id order by logged_at, id))[1], max(logged_at), level, count(*),
           array_remove(array_agg(distinct concerned_tenant_id) || array_agg(distinct user_id), null),
           array_agg(distinct service), min(request_id collate "C"), max(request_id collate "C"),
           array_agg(logged_at order by logged_at, id), array_agg(id order by logged_at, id),
           array_agg(service order by logged_at, id), array_agg(message order by logged_at, id),
           array_agg(concerned_tenant_id order by logged_at, id), array_agg(user_id order by logged_at, id),
           array_agg(request_id order by logged_at, id), array_agg(context order by logged_at, id)
      from (select *, date_trunc('minute', logged_at) as minute,
                   row_number() over so_far / 1000 as by_lines,
                   sum(length(message) + length(context)) over so_far / 1000000 as by_length
              from application_logs
             where logged_at >= day and logged_at < day + interval '24 hours'
            window so_far as (partition by level, date_trunc('minute', logged_at) order by logged_at, id rows unbounded preceding)) as l
     group by level, minute, by_lines, by_length;
  end loop;
end
$$;
drop table application_logs;

create index log_blocks_by_level on log_blocks (level, first_at);
create index log_blocks_by_concerned on log_blocks using gin (concerned);
create index log_blocks_by_part on log_blocks using gin (parts);
create index log_blocks_by_request on log_blocks using brin (first_request, last_request) with (pages_per_range = 16, autosummarize = on);

create view application_logs with (security_invoker = true) as
select l.logged_at, l.id, b.level, l.service, l.message, l.concerned_tenant_id, l.user_id, l.request_id, l.context,
       b.first_at as block_first_at, b.last_at as block_last_at, b.concerned as block_concerned, b.parts as block_parts,
       b.first_request as block_first_request, b.last_request as block_last_request, b.messages as block_messages
  from log_blocks b
 cross join lateral (
   select unnest(b.times) as logged_at, unnest(b.ids) as id, unnest(b.services) as service, unnest(b.messages) as message,
          unnest(b.tenant_ids) as concerned_tenant_id, unnest(b.user_ids) as user_id, unnest(b.request_ids) as request_id,
          unnest(b.contexts) as context) as l;
comment on view application_logs is 'Line by line. Whoever looks for some says as well what their blocks have: first_at, tenants and users, services, requests.';

alter table log_blocks enable row level security;
alter table log_blocks force row level security;
create policy platform on log_blocks to atrium_platform using (true) with check (true);
grant select, insert on log_blocks to atrium_platform;
grant select on application_logs to atrium_platform;
