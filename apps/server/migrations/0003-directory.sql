-- Types with their properties, resources, tags, feedback and QR codes: what a tenant keeps within and beside its spaces.

-- ---------------------------------------------------------------- types of spaces and resources

create table type_definitions (
  tenant_id uuid not null,
  id uuid not null,
  entity_type text not null check (entity_type in ('space', 'resource')),
  key text not null,
  name text not null,
  description text,
  json_schema jsonb not null,
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint type_definitions_key_key unique (tenant_id, entity_type, key)
);
create index type_definitions_by_name on type_definitions (tenant_id, lower(name), id);
comment on column type_definitions.json_schema is 'What the properties of a record of the type look like.';
comment on column type_definitions.updated_at is 'Grows with every change: with the id it names one version of the schema.';

alter table spaces add column type_id uuid;
alter table spaces add constraint spaces_type foreign key (tenant_id, type_id) references type_definitions (tenant_id, id);
create index spaces_by_type on spaces (tenant_id, type_id, lower(name), id) where type_id is not null;

-- The search looked in an expression: `||` is not leakproof, so that under row level security no index served it.
alter table spaces add column search_text text not null generated always as (lower(name || ' ' || coalesce(description, ''))) stored;
drop index spaces_search;
create index spaces_search on spaces using gin (tenant_id, search_text gin_trgm_ops);

-- ---------------------------------------------------------------- resources

create table resources (
  tenant_id uuid not null,
  id uuid not null,
  space_id uuid,
  parent_id uuid,
  type_id uuid,
  name text not null,
  description text,
  translations_i18n jsonb not null default '{}',
  serial text,
  capacity integer,
  address jsonb,
  geo jsonb,
  timezone text,
  status text not null default 'active' check (status in ('active', 'maintenance', 'archived')),
  properties jsonb not null default '{}',
  created_by uuid,
  updated_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  search_text text not null generated always as (
    lower(name || ' ' || coalesce(description, '') || ' ' || coalesce(serial, ''))
  ) stored,
  primary key (tenant_id, id),
  constraint resources_space foreign key (tenant_id, space_id) references spaces (tenant_id, id),
  constraint resources_parent foreign key (tenant_id, parent_id) references resources (tenant_id, id),
  constraint resources_type foreign key (tenant_id, type_id) references type_definitions (tenant_id, id)
);
create index resources_by_name on resources (tenant_id, lower(name), id);
create index resources_by_space on resources (tenant_id, space_id, lower(name), id);
create index resources_by_parent on resources (tenant_id, parent_id, lower(name), id);
create index resources_by_type on resources (tenant_id, type_id, lower(name), id) where type_id is not null;
create index resources_by_serial on resources (tenant_id, serial) where serial is not null;
create index resources_by_change on resources (tenant_id, updated_at, id);
create index resources_search on resources using gin (tenant_id, search_text gin_trgm_ops);

-- ---------------------------------------------------------------- tags

create table tags (
  tenant_id uuid not null,
  id uuid not null,
  name text not null,
  name_key text not null,
  color text,
  translations_i18n jsonb not null default '{}',
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint tags_name_key unique (tenant_id, name_key)
);
comment on column tags.name_key is 'The name as names are compared: NFC, lower case, whatever the collation of the database.';

create table space_tags (
  tenant_id uuid not null,
  space_id uuid not null,
  tag_id uuid not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, space_id, tag_id),
  constraint space_tags_space foreign key (tenant_id, space_id) references spaces (tenant_id, id) on delete cascade,
  constraint space_tags_tag foreign key (tenant_id, tag_id) references tags (tenant_id, id) on delete cascade
);
create index space_tags_by_tag on space_tags (tenant_id, tag_id, space_id);

create table resource_tags (
  tenant_id uuid not null,
  resource_id uuid not null,
  tag_id uuid not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, resource_id, tag_id),
  constraint resource_tags_resource foreign key (tenant_id, resource_id) references resources (tenant_id, id) on delete cascade,
  constraint resource_tags_tag foreign key (tenant_id, tag_id) references tags (tenant_id, id) on delete cascade
);
create index resource_tags_by_tag on resource_tags (tenant_id, tag_id, resource_id);

-- ---------------------------------------------------------------- feedback

create table feedbacks (
  tenant_id uuid not null,
  id uuid not null,
  space_id uuid,
  resource_id uuid,
  rating smallint check (rating between 1 and 5),
  message text not null,
  status text not null default 'new' check (status in ('new', 'in_progress', 'resolved', 'dismissed')),
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint feedbacks_entity check (num_nonnulls(space_id, resource_id) = 1),
  constraint feedbacks_space foreign key (tenant_id, space_id) references spaces (tenant_id, id) on delete cascade,
  constraint feedbacks_resource foreign key (tenant_id, resource_id) references resources (tenant_id, id) on delete cascade
);
create index feedbacks_by_status on feedbacks (tenant_id, status, id);
create index feedbacks_by_space on feedbacks (tenant_id, space_id, id) where space_id is not null;
create index feedbacks_by_resource on feedbacks (tenant_id, resource_id, id) where resource_id is not null;
comment on table feedbacks is 'What people say about a space or a resource; it goes with what it is about.';

-- ---------------------------------------------------------------- QR codes

create table qr_codes (
  tenant_id uuid not null,
  id uuid not null,
  code text not null,
  space_id uuid,
  resource_id uuid,
  label text,
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  assigned_at timestamptz(3),
  primary key (tenant_id, id),
  constraint qr_codes_code_key unique (tenant_id, code),
  constraint qr_codes_entity check (num_nonnulls(space_id, resource_id) <= 1),
  constraint qr_codes_space foreign key (tenant_id, space_id) references spaces (tenant_id, id),
  constraint qr_codes_resource foreign key (tenant_id, resource_id) references resources (tenant_id, id)
);
create index qr_codes_by_space on qr_codes (tenant_id, space_id, id) where space_id is not null;
create index qr_codes_by_resource on qr_codes (tenant_id, resource_id, id) where resource_id is not null;
create index qr_codes_free on qr_codes (tenant_id, id) where space_id is null and resource_id is null;
comment on table qr_codes is 'Printed codes; one outlives what it stuck to, and is free again when that is deleted.';
comment on column qr_codes.code is '128 random bits: says nothing about the record and cannot be guessed.';

-- ---------------------------------------------------------------- who may see what

alter table type_definitions enable row level security;
alter table type_definitions force row level security;
create policy own_tenant on type_definitions using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table resources enable row level security;
alter table resources force row level security;
create policy own_tenant on resources using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table tags enable row level security;
alter table tags force row level security;
create policy own_tenant on tags using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table space_tags enable row level security;
alter table space_tags force row level security;
create policy own_tenant on space_tags using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table resource_tags enable row level security;
alter table resource_tags force row level security;
create policy own_tenant on resource_tags using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table feedbacks enable row level security;
alter table feedbacks force row level security;
create policy own_tenant on feedbacks using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
alter table qr_codes enable row level security;
alter table qr_codes force row level security;
create policy own_tenant on qr_codes using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

grant select, insert, update, delete on type_definitions to atrium_tenant;
grant select, insert, update, delete on resources to atrium_tenant;
grant select, insert, update, delete on tags to atrium_tenant;
grant select, insert, delete on space_tags to atrium_tenant;
grant select, insert, delete on resource_tags to atrium_tenant;
grant select, insert, update on feedbacks to atrium_tenant;
grant select, insert, update, delete on qr_codes to atrium_tenant;
