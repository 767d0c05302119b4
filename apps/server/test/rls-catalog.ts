import type pg from 'pg';

/** Checks of the database catalog; each returns the violations it found, in words. */
export type CatalogCheck = (client: pg.ClientBase) => Promise<string[]>;

/** The roles that the service takes. Any other login owns the schema and only migrates it. */
const serviceRoles = ['atrium_tenant', 'atrium_platform', 'atrium_credential', 'atrium_purge'] as const;

/**
 * Directories over all tenants: found by what login presents, so their keys cannot lead with the tenant.
 * Only the credential role reaches them, apart from the tenant's own memberships.
 */
export const directories = ['memberships', 'tenant_domains', 'refresh_tokens', 'api_key_directory'];

/** Tables without a tenant, each with the reason. */
const globalTables: Readonly<Record<string, string>> = {
  accounts: 'a person logs in before a tenant is known and may be a user of several',
  one_time_tokens: 'looked up by the hash of the token; a reset concerns the account in all its tenants',
  rate_limits: 'counts attempts of callers that are not authenticated yet',
  signing_keys: 'one set for the installation',
  two_factor_methods: 'of the account, in all its tenants',
  two_factor_codes: 'of the account, in all its tenants',
  two_factor_backup_codes: 'of the account, in all its tenants',
  provider_flows: 'logins at a provider, looked up by their state before the account is known',
  account_identities: 'of the account, looked up by the subject of a provider before a tenant is known',
  known_logins: 'of the account, in all its tenants',
  security_events: 'monitored over all tenants; an attacker belongs to no tenant',
  mail_outbox: 'queue of the installation, read by the process that sends',
  push_keys: 'one pair for the installation',
  installation_settings: 'one set for the installation',
  installation_keys: 'one set for the installation',
  application_logs: 'lines of the service, with and without a tenant',
  log_hours: 'amount of log lines, with and without a tenant',
  log_exports: 'catalog of the export store of the installation',
  log_archives: 'catalog of the archived days of the log',
  request_minutes: 'durations of requests over the whole installation',
  tenant_request_hours: 'written in batches that concern many tenants, read by the operator',
  error_hours: 'errors of the service, with and without a tenant',
  ip_rules: 'addresses are checked before a tenant is known',
  jobs: 'jobs of the installation',
  job_runs: 'runs of the jobs of the installation',
  dispatches: 'runs of the dispatcher of the installation',
  dispatcher_alerts: 'findings of the dispatcher of the installation',
};

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
const globalList = Object.keys(globalTables)
  .map((name) => `('${name}')`)
  .join(', ');

/** Every tenant table, with the column that says whose a row is. */
export async function tenantTables(client: pg.ClientBase): Promise<{ name: string; column: string }[]> {
  const { rows } = await client.query<{ name: string; column: string }>(
    `select name, tenant_column as column from (${tables}) t where tenant_column is not null order by name`,
  );
  return rows;
}

/**
 * Tenant tables in the text of all migrations, for checks without a database: `create table` with tenant_id as the first column.
 * A test compares the list with the catalog, so a table that is written in another way is noticed.
 */
export function tenantTablesIn(migrations: string): string[] {
  const names = new Set(['tenants']);
  const statements =
    /^create table (?<created>\w+) \(\n\s+tenant_id |^alter table (?<from>\w+) rename to (?<to>\w+);|^drop table (?<dropped>\w+)/gm;
  for (const { groups = {} } of migrations.matchAll(statements)) {
    const { created, from, to, dropped } = groups;
    const isRenamed = names.delete(from ?? dropped ?? '') && to !== undefined;
    if (created !== undefined) names.add(created);
    if (isRenamed) names.add(to);
  }
  return [...names].toSorted();
}

const tenantColumns: CatalogCheck = (client) =>
  sentences(
    client,
    `select t.name || ': tenant_id is not "uuid not null"' from (${tables}) t
     join pg_attribute a on a.attrelid = t.oid and a.attname = 'tenant_id'
     where not a.attnotnull or a.atttypid <> 'uuid'::regtype
     union all
     select t.name || ': has no tenant_id and no reason in the list of global tables' from (${tables}) t
     where t.tenant_column is null and t.name not in (values ${globalList})
     union all
     select g.name || ': is listed as a global table, but is not one' from (values ${globalList}) g (name)
     where g.name not in (select t.name from (${tables}) t where t.tenant_column is null)
     union all
     select n.nspname || '.' || c.relname || ': is outside of the schema of the service'
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'f') and n.nspname !~ '^pg_' and n.nspname not in ('public', 'queue', 'information_schema')`,
  );

/** The only form of the condition that PostgreSQL and Citus both accept, as the catalog shows it. */
const ownRows = (column: string) =>
  `(${column} = (NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid)`;

const rowSecurity: CatalogCheck = (client) =>
  sentences(
    client,
    `select name || ': row level security is not ' || case when relrowsecurity then 'forced' else 'enabled' end
     from (${tables}) t where not (relrowsecurity and relforcerowsecurity)
     union all
     select name || ': has no policy' from (${tables}) t
     where not exists (select 1 from pg_policy p where p.polrelid = t.oid)
     union all
     select name || ': no policy for all roles and commands holds rows to the tenant' from (${tables}) t,
       lateral (select replace($own$${ownRows('tenant_column')}$own$, 'tenant_column', t.tenant_column) as condition) own
     where t.tenant_column is not null and t.name not in (${directoryList}) and not exists (
       select 1 from pg_policy p
       where p.polrelid = t.oid and p.polpermissive and p.polcmd = '*' and p.polroles = '{0}'
         and pg_get_expr(p.polqual, p.polrelid) = own.condition
         and coalesce(pg_get_expr(p.polwithcheck, p.polrelid), own.condition) = own.condition)`,
  );

type PolicyRow = { policy: string; roles: string[]; conditions: string[]; column: string | null };

/**
 * A policy of a tenant table holds rows to the tenant of the transaction, or is listed with its reason. A policy of a global
 * table is for the other roles only.
 */
const policyText: CatalogCheck = async (client) => {
  const { rows } = await client.query<PolicyRow>(
    `select t.name || '.' || p.polname || ' to ' || array_to_string(r.roles, ', ') as policy, r.roles, t.tenant_column as column,
            array_remove(array[pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)], null) as conditions
     from (${tables}) t join pg_policy p on p.polrelid = t.oid,
       lateral (select array(select case when o = 0 then 'PUBLIC' else pg_get_userbyid(o)::text end
                             from unnest(p.polroles) o order by 1) as roles) r`,
  );
  const allowed = ({ policy, roles, column }: PolicyRow, condition: string) =>
    column === null
      ? !roles.some((role) => role === 'PUBLIC' || role === 'atrium_tenant')
      : condition === ownRows(column) || crossTenantPolicies[policy] !== undefined;
  return rows.flatMap((row) =>
    row.conditions.length === 0
      ? [`${row.policy}: has no condition`]
      : row.conditions
          .filter((condition) => !allowed(row, condition))
          .map((condition) => `${row.policy}: ${condition}`),
  );
};

// Grants on relations and on their columns to roles other than the owner.
const grants = `
  select c.oid, c.relname as name, c.relkind, c.relispartition, a.grantee, a.privilege_type,
         case when a.grantee = 0 then 'PUBLIC' else pg_get_userbyid(a.grantee) end as role
  from pg_class c,
    lateral (select acl.* from aclexplode(c.relacl) acl
             union all
             select acl.* from pg_attribute t, lateral aclexplode(t.attacl) acl where t.attrelid = c.oid) a
  where c.relnamespace = 'public'::regnamespace and a.grantee <> c.relowner`;

const partitionGrants: CatalogCheck = (client) =>
  sentences(
    client,
    `select distinct name || ': a partition is granted to ' || role from (${grants}) g where relispartition`,
  );

const grantsBeyondUse: CatalogCheck = (client) =>
  sentences(
    client,
    `select distinct name || ': granted to PUBLIC' from (${grants}) g where grantee = 0
     union all
     -- Row level security does not hold these.
     select name || ': ' || role || ' may ' || lower(privilege_type) from (${grants}) g
     where privilege_type not in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
     union all
     select distinct name || ': granted to ' || role || ', which no policy admits' from (${grants}) g
     where relkind in ('r', 'p') and not relispartition and not exists (
       select 1 from pg_policy p where p.polrelid = g.oid and p.polroles && array[0, g.grantee]::oid[])
     union all
     select 'default privileges of ' || pg_get_userbyid(defaclrole) from pg_default_acl
     union all
     select 'audit_logs: ' || r.rolname || ' may ' || privilege
     from pg_roles r, (values ('update'), ('delete'), ('truncate')) p (privilege)
     where r.rolname in (${roleList}) and has_table_privilege(r.oid, 'audit_logs', privilege)
       -- With a tenant ends its trail; its policy holds the role to that tenant.
       and (r.rolname, privilege) <> ('atrium_purge', 'delete')`,
  );

const roles: CatalogCheck = (client) =>
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
     select p.proname || ': runs with the privileges of its owner' from pg_proc p
     where p.pronamespace = 'public'::regnamespace and p.prosecdef`,
  );

/** Keys hold rows to their tenant and indexes lead with it, so that no statement reads across tenants to find its rows. */
const keysAndIndexes: CatalogCheck = (client) =>
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
     where not exists (select 1 from pg_index x where x.indrelid = t.oid and x.indisprimary)
     union all
     select t.name || ': the primary key does not continue with the column of the partitions' from (${tables}) t
     join pg_partitioned_table p on p.partrelid = t.oid
     join pg_index x on x.indrelid = t.oid and x.indisprimary and x.indkey[1] <> p.partattrs[0]
     where t.tenant_column is not null
     union all
     select t.name || ': constraint ' || k.conname || ' compares rows of different tenants' from (${tables}) t
     join pg_constraint k on k.conrelid = t.oid and k.contype = 'x'
     join pg_operator o on o.oid = k.conexclop[1] and o.oprname <> '='
     where t.tenant_column is not null`,
  );

const foreignKeys: CatalogCheck = (client) =>
  sentences(
    client,
    `select t.name || ': foreign key ' || k.conname || ' does not carry the tenant'
     from (${tables}) t join pg_constraint k on k.conrelid = t.oid and k.contype = 'f' and k.conparentid = 0
     join (${tables}) target on target.oid = k.confrelid
     where coalesce(t.tenant_column, target.tenant_column) is not null and not exists (
       select 1 from unnest(k.conkey, k.confkey) pair (own, referenced)
       join pg_attribute a on a.attrelid = t.oid and a.attnum = pair.own and a.attname = t.tenant_column
       join pg_attribute b on b.attrelid = target.oid and b.attnum = pair.referenced and b.attname = target.tenant_column)
     union all
     -- Citus has no SET NULL on a column of the distribution: a statement clears the reference instead.
     select t.name || ': foreign key ' || k.conname || ' sets null or a default' from (${tables}) t
     join pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
     where k.confdeltype in ('n', 'd') or k.confupdtype in ('n', 'd')`,
  );

/** Code that runs by itself or is not bound by the policies of the caller. */
const hiddenCode: CatalogCheck = (client) =>
  sentences(
    client,
    `select c.relname || ': trigger ' || g.tgname from pg_trigger g join pg_class c on c.oid = g.tgrelid
     where not g.tgisinternal and c.relnamespace = 'public'::regnamespace
     union all
     select c.relname || ': rule ' || w.rulename from pg_rewrite w join pg_class c on c.oid = w.ev_class
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
     union all
     select c.relname || ': a view with the privileges of its owner' from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('v', 'm')
       and not coalesce(c.reloptions @> '{security_invoker=true}', false)`,
  );

export const checks: readonly [string, CatalogCheck][] = [
  ['every table has a tenant, or is listed with the reason why not', tenantColumns],
  ['every table has row level security enabled, forced, and a policy', rowSecurity],
  ['every policy holds rows to the tenant of the transaction, or is listed with its reason', policyText],
  ['nothing is granted on a partition, where the policies of the whole do not hold', partitionGrants],
  ['nothing is granted to PUBLIC or without a policy, and the audit trail can only grow', grantsBeyondUse],
  ['the roles of the service have no privileges beyond their grants and own nothing', roles],
  ['keys contain the tenant and indexes lead with it', keysAndIndexes],
  ['foreign keys carry the tenant', foreignKeys],
  ['there are no triggers, rules or views with privileges of their own', hiddenCode],
];

async function sentences(client: pg.ClientBase, select: string): Promise<string[]> {
  const { rows } = await client.query<Record<string, string>>(`select * from (${select}) found (sentence) order by 1`);
  return rows.map((row) => row.sentence!);
}
