-- Content of a tenant: types, spaces, resources, contacts, tags, feedback, QR codes, categories.
-- Without foreign keys to tenants: each new row would lock the row of its tenant, and the policy admits no other tenant_id.

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
comment on column type_definitions.json_schema is 'Schema of the properties of a record of the type.';
comment on column type_definitions.updated_at is 'Grows with every change: together with the id it identifies one version of the schema.';

grant select, insert, update, delete on type_definitions to atrium_tenant;

-- ---------------------------------------------------------------- spaces and resources
-- Searches read search_text: an expression with || is not leakproof, so under row level security no index would serve it. The
-- *_texts indexes keep the texts of a tenant together, because its rows are spread over as many pages as there are rows.

create table spaces (
  tenant_id uuid not null,
  id uuid not null,
  parent_id uuid,
  type_id uuid,
  name text not null,
  description text,
  translations_i18n jsonb not null default '{}',
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
  search_text text not null generated always as (lower(name || ' ' || coalesce(description, ''))) stored,
  primary key (tenant_id, id),
  constraint spaces_parent foreign key (tenant_id, parent_id) references spaces (tenant_id, id),
  constraint spaces_type foreign key (tenant_id, type_id) references type_definitions (tenant_id, id)
);
create index spaces_by_parent on spaces (tenant_id, parent_id, name, id);
create index spaces_by_name on spaces (tenant_id, lower(name), id);
create index spaces_by_type on spaces (tenant_id, type_id, lower(name), id) where type_id is not null;
create index spaces_search on spaces using gin (tenant_id, search_text gin_trgm_ops);
create index spaces_texts on spaces (tenant_id, id) include (search_text) where octet_length(search_text) <= 1000;
create index spaces_long_texts on spaces (tenant_id, id) where octet_length(search_text) > 1000;
comment on index spaces_texts is 'Bounded, because an index entry has at most 2,704 bytes; spaces_long_texts finds longer texts, which are read from the table.';

grant select, insert, update, delete on spaces to atrium_tenant;

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
create index resources_texts on resources (tenant_id, id) include (search_text) where octet_length(search_text) <= 1000;
create index resources_long_texts on resources (tenant_id, id) where octet_length(search_text) > 1000;

grant select, insert, update, delete on resources to atrium_tenant;

-- ---------------------------------------------------------------- contacts

create table contacts (
  tenant_id uuid not null,
  id uuid not null,
  first_name text,
  middle_name text,
  last_name text,
  email text,
  phone text,
  url text,
  address jsonb,
  notes text,
  created_by uuid,
  updated_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  phone_digits text generated always as (regexp_replace(phone, '\D', '', 'g')) stored,
  search_text text not null generated always as (
    lower(coalesce(first_name, '') || ' ' || coalesce(middle_name, '') || ' ' || coalesce(last_name, '') || ' '
      || coalesce(email, '') || ' ' || coalesce(phone, '') || ' ' || coalesce(address ->> 'city', ''))
  ) stored,
  primary key (tenant_id, id)
);
create index contacts_by_email on contacts (tenant_id, lower(email)) where email is not null;
create index contacts_by_phone on contacts (tenant_id, phone_digits) where phone is not null;
create index contacts_search on contacts using gin (tenant_id, search_text gin_trgm_ops);
create index contacts_texts on contacts (tenant_id, id) include (search_text) where octet_length(search_text) <= 1000;
create index contacts_long_texts on contacts (tenant_id, id) where octet_length(search_text) > 1000;

grant select, insert, update, delete on contacts to atrium_tenant;

create table contact_links (
  tenant_id uuid not null,
  id uuid not null,
  entity_type text not null check (entity_type in ('user', 'space', 'resource')),
  entity_id uuid not null,
  contact_id uuid not null,
  is_primary boolean not null default false,
  created_by uuid,
  created_at timestamptz(3) not null,
  space_id uuid generated always as (case when entity_type = 'space' then entity_id end) stored,
  user_id uuid generated always as (case when entity_type = 'user' then entity_id end) stored,
  resource_id uuid generated always as (case when entity_type = 'resource' then entity_id end) stored,
  primary key (tenant_id, id),
  constraint contact_links_key unique (tenant_id, entity_type, entity_id, contact_id),
  constraint contact_links_contact foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
  constraint contact_links_space foreign key (tenant_id, space_id) references spaces (tenant_id, id) on delete cascade,
  constraint contact_links_user foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade,
  constraint contact_links_resource foreign key (tenant_id, resource_id) references resources (tenant_id, id) on delete cascade
);
create unique index contact_links_primary on contact_links (tenant_id, entity_type, entity_id) where is_primary;
create index contact_links_by_contact on contact_links (tenant_id, contact_id);
create index contact_links_by_space on contact_links (tenant_id, space_id);
create index contact_links_by_user on contact_links (tenant_id, user_id) where user_id is not null;
create index contact_links_by_resource on contact_links (tenant_id, resource_id) where resource_id is not null;
comment on column contact_links.space_id is 'entity_id again, so that a foreign key can refer to the space; user_id and resource_id likewise.';

grant select, insert, update, delete on contact_links to atrium_tenant;
-- A declined invitation deletes its user, which has no session in the tenant yet.
grant select (tenant_id, user_id), delete on contact_links to atrium_credential;

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
comment on column tags.name_key is 'The name in the form that is compared: NFC, lower case, independent of the collation of the database.';

grant select, insert, update, delete on tags to atrium_tenant;

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

grant select, insert, delete on space_tags to atrium_tenant;

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

grant select, insert, delete on resource_tags to atrium_tenant;

-- ---------------------------------------------------------------- feedback and QR codes

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
comment on table feedbacks is 'Comments on a space or a resource; deleted with it.';

grant select, insert, update on feedbacks to atrium_tenant;

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
comment on table qr_codes is 'Printed codes. A code outlives its space or resource and is then free again.';
comment on column qr_codes.code is '128 random bits: reveals nothing about the record and cannot be guessed.';

grant select, insert, update, delete on qr_codes to atrium_tenant;

-- ---------------------------------------------------------------- categories

create table categories (
  tenant_id uuid not null,
  id uuid not null,
  parent_id uuid,
  key text not null,
  filter_id text,
  level integer not null check (level >= 0),
  path text collate "C" not null,
  translations jsonb not null,
  search_text text not null,
  usage_count integer not null default 0 check (usage_count >= 0),
  created_by uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  constraint categories_key_key unique (tenant_id, key),
  constraint categories_parent foreign key (tenant_id, parent_id) references categories (tenant_id, id)
);
create index categories_by_level on categories (tenant_id, level, key);
create index categories_by_parent on categories (tenant_id, parent_id, key);
create index categories_by_path on categories (tenant_id, path);
create index categories_by_filter on categories (tenant_id, filter_id, level, key) where filter_id is not null;
comment on column categories.path is 'Ids from the root to the category itself, each followed by a slash: a subtree is one range of texts.';
comment on column categories.translations is 'By language: {"en": {"name": "...", "description": "..."}}.';
comment on column categories.search_text is 'Key and names in all languages, in lower case. Without an index: a move would rewrite it for the whole subtree, and a tenant has few categories.';
comment on column categories.usage_count is 'Number of rows in category_links; statements that add or delete links update it.';

grant select, insert, update, delete on categories to atrium_tenant;

create table category_links (
  tenant_id uuid not null,
  id uuid not null,
  category_id uuid not null,
  entity_type text not null check (entity_type in ('space', 'resource', 'tenant', 'group')),
  entity_id uuid not null,
  created_by uuid,
  created_at timestamptz(3) not null,
  space_id uuid generated always as (case when entity_type = 'space' then entity_id end) stored,
  resource_id uuid generated always as (case when entity_type = 'resource' then entity_id end) stored,
  group_id uuid generated always as (case when entity_type = 'group' then entity_id end) stored,
  primary key (tenant_id, id),
  constraint category_links_key unique (tenant_id, category_id, entity_type, entity_id),
  constraint category_links_tenant check (entity_type <> 'tenant' or entity_id = tenant_id),
  constraint category_links_category foreign key (tenant_id, category_id) references categories (tenant_id, id),
  constraint category_links_space foreign key (tenant_id, space_id) references spaces (tenant_id, id),
  constraint category_links_resource foreign key (tenant_id, resource_id) references resources (tenant_id, id),
  constraint category_links_group foreign key (tenant_id, group_id) references groups (tenant_id, id)
);
create index category_links_by_entity on category_links (tenant_id, entity_type, entity_id, category_id);
create index category_links_by_space on category_links (tenant_id, space_id) where space_id is not null;
create index category_links_by_resource on category_links (tenant_id, resource_id) where resource_id is not null;
create index category_links_by_group on category_links (tenant_id, group_id) where group_id is not null;
comment on table category_links is 'Without cascades: a statement that deletes a linked record first deletes its links and lowers usage_count.';

grant select, insert, delete on category_links to atrium_tenant;
grant update (category_id) on category_links to atrium_tenant;

select app_protect_tenant_tables(
  'type_definitions', 'spaces', 'resources', 'contacts', 'contact_links', 'tags', 'space_tags', 'resource_tags', 'feedbacks',
  'qr_codes', 'categories', 'category_links');
