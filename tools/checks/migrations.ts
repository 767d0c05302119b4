import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { files, type Gate } from './run.ts';
import { bare, isRead, readSchema, readStatements } from './schema.ts';
import type { Key, Migration, Policy, Reference, Schema, Statement, Table } from './schema.ts';

const folder = 'apps/server/migrations';

/** Tables that belong to no tenant, each with the reason. */
const globalTables: Record<string, string> = {
  accounts: 'a person logs in before a tenant is known and may belong to several',
  memberships: 'directory of the tenants of an account, looked up by account',
  tenant_domains: 'directory that keeps domains unique over all tenants, looked up by domain',
  refresh_tokens: 'looked up by the hash of the token, which then names the tenant',
  one_time_tokens: 'looked up by the hash of the token; a reset concerns the account in all its tenants',
  throttles: 'counts attempts of callers who are not known yet',
  signing_keys: 'one set for the installation',
  two_factor_methods: 'of the account, in all its tenants',
  two_factor_codes: 'of the account, in all its tenants',
  two_factor_backup_codes: 'of the account, in all its tenants',
  api_key_directory: 'directory of the tenants of API keys, looked up by the public part of a key',
  app_account_directory: 'directory that keeps the addresses of app accounts unique within each tenant',
  provider_flows: 'logins under way at a provider, looked up by their state before anybody is known',
  account_identities: 'of the account, looked up by what a provider says before a tenant is known',
  security_events: 'watched over all tenants; an attacker belongs to none',
  mail_outbox: 'queue of the installation, next to the process that sends',
  installation_settings: 'one set for the installation',
  installation_keys: 'one set for the installation',
  known_logins: 'of the account, whichever tenant it enters',
  push_keys: 'one pair for the installation',
  log_blocks: 'lines of the service about all tenants and none',
  log_hours: 'how much the service logs about all tenants and none',
  request_minutes: 'how the whole installation answers',
  tenant_request_hours: 'written in batches that concern many tenants, read by the operator',
  error_hours: 'errors of the service, whoever they met',
  log_exports: 'catalog of the export store of the installation',
  log_archives: 'catalog of the archived days of the log',
  ip_rules: 'addresses come before a tenant is known',
  jobs: 'jobs belong to the installation',
  job_runs: 'runs of the jobs of the installation',
  dispatches: 'runs of the dispatcher of the installation',
  dispatcher_alerts: 'what the dispatcher of the installation found',
};

/** The tables of one tenant each, and `tenants`: what a statement has to name its tenant for. */
export function isTenantTable(table: Table): boolean {
  return !table.isPartition && !(table.name in globalTables);
}

export async function readMigrations(root: string): Promise<Migration[]> {
  const names = await files(root, `${folder}/*.sql`);
  const read = async (file: string) => ({
    name: path.basename(file),
    text: await readFile(path.join(root, file), 'utf8'),
  });
  return Promise.all(names.map(read));
}

/** The rules that keep row level security whole and the way to a distributed database open. */
export const migrations: Gate = {
  name: 'migrations',
  find: async (root) => findInMigrations(await readMigrations(root), globalTables),
};

export function findInMigrations(list: readonly Migration[], globals: Record<string, string>): string[] {
  if (list.length === 0) return [`${folder} holds no migration`];
  const statements = list.flatMap(readStatements);
  const schema = readSchema(statements);
  const views = viewsOf(statements);
  return [
    ...list.flatMap(({ name }, at) => nameProblems(name, at + 1)),
    ...statements.flatMap(statementProblems),
    ...statements.flatMap((statement) => grantProblems(statement, schema, views)),
    ...[...schema.values()].flatMap((table) => (table.isPartition ? [] : tableProblems(table, schema, globals))),
    ...Object.keys(globals)
      .filter((name) => !schema.has(name))
      .map((name) => `${name} stands in the list of global tables, but there is no such table`),
  ];
}

function nameProblems(name: string, number: number): string[] {
  const wanted = String(number).padStart(4, '0');
  const fits = /^\d{4}(-[a-z0-9]+)+\.sql$/.test(name) && name.startsWith(`${wanted}-`);
  return fits ? [] : [`${name}: call it ${wanted}-what-it-does.sql`];
}

const forbidden: [RegExp, string][] = [
  [/^create (or replace )?(constraint )?trigger\b|^create (or replace )?rule\b/, 'no triggers and no rules'],
  [/\bmerge into\b/, 'no MERGE'],
  [/\bon (delete|update) set (null|default)\b/, 'no SET NULL or SET DEFAULT: clear the reference by a statement'],
  [/\bsecurity definer\b/, 'no SECURITY DEFINER: it passes by row level security'],
  [/\bset_config\(/, 'no set_config(): it does not reach the workers of a distributed database'],
  [/\bset (session )?app\./, 'the tenant is SET LOCAL, or it leaks through a pooler'],
  [/\b(disable|no force) row level security\b/, 'row level security stays enabled and forced'],
  [/^create materialized view\b/, 'no materialized view: it has no row level security'],
  [/^create (or replace )?(recursive )?view\b(?!.*\bsecurity_invoker ?= ?(true|on)\b)/, 'views need security_invoker'],
  [/^alter default privileges\b|^grant .* on all \w+ in schema\b/, 'grants name one table each'],
  [/^grant\b.*\b(all|truncate)\b.* on /, 'neither ALL nor TRUNCATE: row level security does not hold it'],
  [/^(grant|create policy)\b.* to (.*, ?)?public\b/, 'nothing for PUBLIC'],
  [
    /^alter table \S+ add (column )?(if not exists )?(?!constraint|foreign)\w+ .*\breferences\b/,
    'a column and its foreign key are two statements',
  ],
  [
    /^alter table .*, (add|alter|drop) .*\bforeign key\b|\bforeign key\b.*, (add|alter|drop) /,
    'a foreign key is added by a statement of its own',
  ],
  [
    /^alter policy\b|^alter table \S+ rename\b|^create table .*\) as\b/,
    'not understood by this check: drop and create instead',
  ],
  [/\bexclude (?!using gist \(tenant_id with =, )/, 'an exclusion constraint leads with "tenant_id with ="'],
];

/** What decides about isolation may not slip by because it is written in another way. */
const mustBeRead = /^create (\w+ )*(table|index|policy)\b/;

function statementProblems({ place, sql }: Statement): string[] {
  const problems = forbidden.filter(([pattern]) => pattern.test(sql)).map(([, message]) => `${place}: ${message}`);
  if (mustBeRead.test(sql) && !isRead(sql)) problems.push(`${place}: not understood by this check: write it plainly`);
  if (bare(sql).slice(0, -1).includes(';')) problems.push(`${place}: one statement per query, ended by its line`);
  return problems;
}

/** They pass by no policy: those without the rights of who asks are refused above. */
function viewsOf(statements: readonly Statement[]): Set<string> {
  return new Set(statements.flatMap(({ sql }) => /^create (?:or replace )?view (\w+)/.exec(sql)?.[1] ?? []));
}

function grantProblems({ place, sql }: Statement, schema: Schema, views: ReadonlySet<string>): string[] {
  const target = /^grant (?!execute|usage|atrium_).* on (?:table )?(.+?) to /.exec(sql)?.[1];
  if (target === undefined || views.has(target)) return [];
  const table = schema.get(target);
  if (table === undefined) return [`${place}: a grant names one table of these migrations, not "${target}"`];
  return table.isPartition ? [`${place}: nothing is granted on a partition: reading it passes by the policies`] : [];
}

function tableProblems(table: Table, schema: Schema, globals: Record<string, string>): string[] {
  const about = (problem: string) => `${table.place}: ${table.name}: ${problem}`;
  const problems = ['enable', 'force'].flatMap((what) =>
    table.security.has(what) ? [] : [about(`${what} row level security is missing`)],
  );
  problems.push(...table.policies.flatMap((policy) => policyProblems(policy, table)));
  if (table.name in globals) {
    const toTenants = table.references.filter(({ target }) => !(target in globals));
    return [...problems, ...toTenants.map(() => about('a global table references no tenant table'))];
  }
  if (!hasOwnTenantPolicy(table))
    problems.push(about('a policy for all commands with USING and WITH CHECK is missing'));
  return [...problems, ...(table.name === 'tenants' ? [] : tenantTableProblems(table, schema))];
}

function tenantTableProblems(table: Table, schema: Schema): string[] {
  const problems: string[] = [];
  if (!table.columns.get('tenant_id')?.startsWith('uuid not null')) {
    problems.push('needs "tenant_id uuid not null", or a reason in the list of global tables');
  }
  if (!table.keys.some((key) => key.kind === 'primary')) problems.push('needs a primary key');
  return [
    ...problems.map((problem) => `${table.place}: ${table.name}: ${problem}`),
    ...table.keys.flatMap((key) => keyProblems(key, table)),
    ...table.references.flatMap((reference) => referenceProblems(reference, table, schema)),
  ];
}

function keyProblems({ kind, columns, place }: Key, { name, partitionedBy }: Table): string[] {
  const given = columns.join(', ');
  const partitioned = `tenant_id, ${partitionedBy}, id`;
  if (kind === 'primary' && partitionedBy !== undefined && given !== partitioned) {
    return [`${place}: ${name}: the primary key of a partitioned table is (${partitioned})`];
  }
  return columns[0] === 'tenant_id' ? [] : [`${place}: ${name}: ${kind} (${given}) has to lead with tenant_id`];
}

function referenceProblems(
  { columns, target, targetColumns, place }: Reference,
  table: Table,
  schema: Schema,
): string[] {
  if (!schema.has(target)) return [`${place}: ${table.name}: references ${target}, which no migration makes`];
  const wanted = target === 'tenants' ? 'id' : 'tenant_id';
  const carries = columns[0] === 'tenant_id' && targetColumns[0] === wanted;
  return carries ? [] : [`${place}: ${table.name}: the foreign key to ${target} has to carry tenant_id on both sides`];
}

function tenantCondition(table: Table): string {
  return `${table.name === 'tenants' ? 'id' : 'tenant_id'} = nullif(current_setting('app.tenant_id', true), '')::uuid`;
}

function hasOwnTenantPolicy(table: Table): boolean {
  const own = tenantCondition(table);
  return table.policies.some(
    ({ command, conditions }) =>
      command === 'all' && conditions.length === 2 && conditions.every((condition) => condition === own),
  );
}

/** Either the tenant in the one form that PostgreSQL and Citus take, or everything for a role that is no tenant's. */
function policyProblems({ place, name, roles, conditions }: Policy, table: Table): string[] {
  const forTenants = roles.some((role) => role === '' || role === 'atrium_tenant');
  const wrong = conditions.filter(
    (condition) => condition !== tenantCondition(table) && (forTenants || condition !== 'true'),
  );
  if (conditions.length === 0) return [`${place}: ${table.name}: policy ${name} has no condition`];
  return wrong.map(
    (condition) =>
      `${place}: ${table.name}: policy ${name} has to say ${tenantCondition(table)}, without a subquery, not ${condition}`,
  );
}
