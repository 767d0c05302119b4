-- The files named baseline create the first schema together; later files change it, forward only (docs/architecture.md, "Database").
-- This one: extensions, the functions behind every transaction, the rules for tables, the functions of the audit trail.
-- `core/data/db/migrate.ts` creates the roles, because they belong to the whole server.

create extension if not exists pg_trgm;
create extension if not exists btree_gin;
create extension if not exists btree_gist;

-- Under row level security an index serves only leakproof conditions. LIKE and lower() reveal only their result, but are not
-- marked leakproof. Only a superuser can mark them; without the mark a search reads all rows of the tenant.
do $$
begin
  if (select rolsuper from pg_roles where rolname = current_user) then
    alter function pg_catalog.textlike(text, text) leakproof;
    alter function pg_catalog.lower(text) leakproof;
  end if;
end $$;

-- ---------------------------------------------------------------- transactions
-- Settings are SET LOCAL: set_config() does not reach the workers of a distributed database, and a session SET leaks through a
-- pooler. They are set in functions, because SET takes no parameter.

create function app_tenant(tenant uuid) returns void language plpgsql as $$
begin
  execute format('set local app.tenant_id = %L', tenant);
end $$;
comment on function app_tenant(uuid) is 'Sets the tenant of the transaction.';

create function app_enter(wanted_role text, tenant uuid) returns void language plpgsql as $$
begin
  execute format('set local role %I', wanted_role);
  execute 'set local timezone = ''UTC''';
  if tenant is not null then
    execute format('set local app.tenant_id = %L', tenant);
  end if;
end $$;
comment on function app_enter(text, uuid) is 'Begins a transaction behind a transaction pooler, where a connection cannot keep its role and settings.';

create function app_one_plan() returns void language plpgsql as $$
begin
  set local plan_cache_mode = force_generic_plan;
end $$;
comment on function app_one_plan() is 'For searches: their plan does not depend on the words, and planning takes longer than running it.';

-- ---------------------------------------------------------------- rules for tables
-- Row level security is enabled on every table and forced, so that it holds for the owner as well. A file that creates a table
-- ends with one of these two calls; `apps/server/test/rls-catalog.ts` finds a table without one.

create function app_protect_tenant_tables(variadic tables regclass[]) returns void language plpgsql as $$
declare
  item regclass;
  own_rows text;
begin
  foreach item in array tables loop
    own_rows := format(
      '%I = nullif(current_setting(''app.tenant_id'', true), '''')::uuid',
      case when item = 'tenants'::regclass then 'id' else 'tenant_id' end);
    execute format('alter table %s enable row level security', item);
    execute format('alter table %s force row level security', item);
    execute format('create policy own_tenant on %s using (%s) with check (%s)', item, own_rows, own_rows);
    -- The row of a deleted tenant remains, and rows of files are deleted after their objects, by the tenant role.
    if item::text not in ('tenants', 'files') then
      execute format('grant select, delete on %s to atrium_purge', item);
    end if;
  end loop;
end $$;
comment on function app_protect_tenant_tables(regclass[]) is 'Every role sees and writes the rows of the tenant of the transaction only; the purge of a tenant may delete its rows.';

create function app_reserve_tables(wanted_role text, variadic tables regclass[]) returns void language plpgsql as $$
declare
  item regclass;
begin
  foreach item in array tables loop
    execute format('alter table %s enable row level security', item);
    execute format('alter table %s force row level security', item);
    execute format(
      'create policy %I on %s to %I using (true) with check (true)', replace(wanted_role, 'atrium_', ''), item, wanted_role);
  end loop;
end $$;
comment on function app_reserve_tables(text, regclass[]) is 'For tables of the installation: one role sees all rows, all other roles none.';

-- ---------------------------------------------------------------- audit trail
-- Hashes of several audit rows of one statement, as a window aggregate: a recursive query would read all of them once per row.

create function app_audit_link(state bytea, digest bytea, head bytea) returns bytea language plpgsql immutable parallel safe as $$
begin
  return case
    when state is not null then sha256(state || digest)
    when head = '' then digest
    else sha256(head || digest)
  end;
end $$;

create aggregate app_audit_chain(digest bytea, head bytea) (sfunc = app_audit_link, stype = bytea, parallel = safe);
comment on aggregate app_audit_chain(bytea, bytea) is 'Hash of the current row of a window, in a chain that ended with this head; an empty head starts the chain.';
