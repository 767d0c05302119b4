import type pg from 'pg';

/** Checks of the database catalog; each returns the violations it found, in words. */
export type CatalogCheck = (client: pg.ClientBase) => Promise<string[]>;

/** The roles that the service takes; whoever else connects owns the schema and only migrates it. */
const serviceRoles = ['atrium_tenant', 'atrium_platform', 'atrium_credential', 'atrium_purge'] as const;

/**
 * Directories over all tenants: found by what login presents, so their keys cannot lead with the tenant.
 * Only the credential role reaches them, apart from the tenant's own memberships.
 */
export const directories = ['memberships', 'tenant_domains', 'refresh_tokens', 'api_key_directory'];

/** Policies that look across tenants, each with the reason that allows it. */
export const crossTenantPolicies: Readonly<Record<string, string>> = {
  'tenant_storage.platform_read to atrium_platform': 'system administration sums up what all tenants store',
  'files.platform_unsettled to atrium_platform':
    'housekeeping finds what broken uploads left, by columns that say no more',
  'tenants.platform_read to atrium_platform': 'system administration finds the tenant it was told to act on',
  'tenants.platform_change to atrium_platform': 'system administration suspends, restores and ends tenants',
  'tenants.credential_read to atrium_credential': 'login lists the tenants of a person',
  'sessions.credential_sessions to atrium_credential': 'a session is looked up before its tenant is entered',
  'api_key_directory.credential to atrium_credential': 'a directory',
  'app_account_directory.credential to atrium_credential':
    'a worker of an older version looks addresses up over all tenants during a rolling restart',
  'connectors.platform_read to atrium_platform': 'connectors of the system tenant serve every tenant',
  'credential_usage.platform_old to atrium_platform': 'housekeeping deletes what is too old over all tenants',
  'idempotency_keys.platform_old to atrium_platform': 'housekeeping deletes what is too old over all tenants',
  'connector_events.platform to atrium_platform': 'system administration sees how all providers do',
  'operation_overrides.platform_read to atrium_platform':
    'system administration finds the override it was told to delete',
  'operation_quota.platform_old to atrium_platform': 'housekeeping deletes what is too old over all tenants',
  'provider_calls.platform to atrium_platform':
    'written in batches that concern many tenants; system administration reads all of them',
  'provider_call_hours.platform to atrium_platform':
    'written in batches that concern many tenants; system administration reads all of them',
  'translation_memory.platform_read to atrium_platform': 'housekeeping finds the tenants that have some',
  'translation_marks.platform_read to atrium_platform': 'housekeeping finds the tenants that have some',
  'translation_jobs.platform to atrium_platform':
    'a process finds the work that another one left behind, and housekeeping deletes what is too old',
  'notices.platform_read to atrium_platform': 'a process finds the work that another one left behind',
  'notification_deliveries.platform_read to atrium_platform': 'a process finds the work that another one left behind',
  'model_catalogs.platform_read to atrium_platform': 'the catalog of the system tenant serves every tenant',
  'memberships.credential to atrium_credential': 'a directory',
  'tenant_domains.credential to atrium_credential': 'a directory',
  'refresh_tokens.credential to atrium_credential': 'a directory',
};

// Tables of the service in its schema, without partitions and without what belongs to extensions.
const tables = `
  select c.oid, c.relname as name, c.relrowsecurity, c.relforcerowsecurity, c.relowner,
         case when c.relname = 'tenants' then 'id'
              when exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id') then 'tenant_id'
         end as tenant_column
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname <> 'schema_migrations'`;

const roleList = serviceRoles.map((role) => `'${role}'`).join(', ');
const directoryList = directories.map((name) => `'${name}'`).join(', ');

/** Every tenant table, with the column that says whose a row is. */
export async function tenantTables(client: pg.ClientBase): Promise<{ name: string; column: string }[]> {
  const { rows } = await client.query<{ name: string; column: string }>(
    `select name, tenant_column as column from (${tables}) t where tenant_column is not null order by name`,
  );
  return rows;
}

export const rowSecurity: CatalogCheck = (client) =>
  sentences(
    client,
    `select name || ': row level security is not ' || case when relrowsecurity then 'forced' else 'enabled' end
     from (${tables}) t where not (relrowsecurity and relforcerowsecurity)
     union all
     select name || ': has no policy' from (${tables}) t
     where not exists (select 1 from pg_policy p where p.polrelid = t.oid)`,
  );

/** A policy holds rows to the tenant of the transaction, or stands in the list of those that may not. */
export const policyText: CatalogCheck = async (client) => {
  const { rows } = await client.query<{ policy: string; condition: string; column: string }>(
    `select t.name || '.' || p.polname || ' to ' ||
              coalesce((select string_agg(r.rolname, ', ' order by r.rolname) from pg_roles r where r.oid = any (p.polroles)), 'everybody') as policy,
            condition.text as condition, t.tenant_column as column
     from (${tables}) t join pg_policy p on p.polrelid = t.oid,
       lateral (values (pg_get_expr(p.polqual, p.polrelid)), (pg_get_expr(p.polwithcheck, p.polrelid))) condition (text)
     where t.tenant_column is not null and condition.text is not null`,
  );
  const own = (column: string) =>
    `(${column} = (NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid)`;
  return rows
    .filter(({ policy, condition, column }) => condition !== own(column) && crossTenantPolicies[policy] === undefined)
    .map(({ policy, condition }) => `${policy}: ${condition}`);
};

export const partitionGrants: CatalogCheck = (client) =>
  sentences(
    client,
    `select c.relname || ': a partition is granted to ' || coalesce(r.rolname, 'everybody')
     from pg_class c, lateral aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
     where c.relnamespace = 'public'::regnamespace and c.relispartition and a.grantee <> c.relowner`,
  );

export const publicGrants: CatalogCheck = (client) =>
  sentences(
    client,
    `select c.relname || ': granted to everybody' from pg_class c, lateral aclexplode(c.relacl) a
     where c.relnamespace = 'public'::regnamespace and a.grantee = 0
     union all
     select 'audit_logs: ' || r.rolname || ' may ' || privilege
     from pg_roles r, (values ('update'), ('delete'), ('truncate')) p (privilege)
     where r.rolname in (${roleList}) and has_table_privilege(r.oid, 'audit_logs', privilege)
       -- With a tenant ends its trail; its policy holds the role to that tenant.
       and (r.rolname, privilege) <> ('atrium_purge', 'delete')`,
  );

export const roles: CatalogCheck = (client) =>
  sentences(
    client,
    `select r.rolname || ': is a superuser, bypasses policies, logs in or makes roles' from pg_roles r
     where r.rolname in (${roleList})
       and (r.rolsuper or r.rolbypassrls or r.rolcanlogin or r.rolcreaterole or r.rolcreatedb or r.rolreplication)
     union all
     select r.rolname || ': owns ' || c.relname from pg_class c join pg_roles r on r.oid = c.relowner
     where r.rolname in (${roleList})
     union all
     select r.rolname || ': owns function ' || p.proname from pg_proc p join pg_roles r on r.oid = p.proowner
     where r.rolname in (${roleList})
     union all
     select r.rolname || ': is a member of ' || g.rolname
     from pg_auth_members m join pg_roles r on r.oid = m.member join pg_roles g on g.oid = m.roleid
     where r.rolname in (${roleList})
     union all
     select r.rolname || ': may create in the schema' from pg_roles r
     where r.rolname in (${roleList}) and has_schema_privilege(r.oid, 'public', 'create')
     union all
     select p.proname || ': runs with the rights of its owner' from pg_proc p
     where p.pronamespace = 'public'::regnamespace and p.prosecdef`,
  );

/** Keys hold rows to their tenant and indexes lead with it, so that no statement reads across tenants to find its rows. */
export const keysAndIndexes: CatalogCheck = (client) =>
  sentences(
    client,
    `select t.name || ': index ' || i.relname || case when x.indisunique then ' is unique over all tenants' else ' does not lead with the tenant' end
     from (${tables}) t
     join pg_index x on x.indrelid = t.oid join pg_class i on i.oid = x.indexrelid join pg_am m on m.oid = i.relam
     left join pg_attribute a on a.attrelid = t.oid and a.attname = t.tenant_column
     where t.tenant_column is not null and t.name not in (${directoryList})
       and not case
         -- A GIN index has no leading column, every column can be searched alone: it only has to have the tenant.
         when m.amname = 'gin' then a.attnum = any (x.indkey::int2[])
         else a.attnum = x.indkey[0] end
     union all
     select t.name || ': has no primary key' from (${tables}) t
     where not exists (select 1 from pg_index x where x.indrelid = t.oid and x.indisprimary)`,
  );

export const foreignKeys: CatalogCheck = (client) =>
  sentences(
    client,
    `select t.name || ': foreign key ' || k.conname || ' does not carry the tenant'
     from (${tables}) t join pg_constraint k on k.conrelid = t.oid and k.contype = 'f' and k.conparentid = 0
     join (${tables}) target on target.oid = k.confrelid
     where t.tenant_column is not null and not exists (
       select 1 from unnest(k.conkey, k.confkey) pair (own, referenced)
       join pg_attribute a on a.attrelid = t.oid and a.attnum = pair.own and a.attname = t.tenant_column
       join pg_attribute b on b.attrelid = target.oid and b.attnum = pair.referenced and b.attname = target.tenant_column)`,
  );

/** What runs by itself or looks past the policies of the caller. */
export const hiddenCode: CatalogCheck = (client) =>
  sentences(
    client,
    `select c.relname || ': trigger ' || g.tgname from pg_trigger g join pg_class c on c.oid = g.tgrelid
     where not g.tgisinternal and c.relnamespace = 'public'::regnamespace
     union all
     select c.relname || ': rule ' || w.rulename from pg_rewrite w join pg_class c on c.oid = w.ev_class
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
     union all
     select c.relname || ': a view with the rights of its owner' from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('v', 'm')
       and not coalesce(c.reloptions @> '{security_invoker=true}', false)`,
  );

async function sentences(client: pg.ClientBase, select: string): Promise<string[]> {
  const { rows } = await client.query<Record<string, string>>(`select * from (${select}) found (sentence) order by 1`);
  return rows.map((row) => row.sentence!);
}
