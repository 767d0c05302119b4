import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { tenantTablesIn } from '../../apps/server/test/rls-catalog.ts';
import { kindFindings } from './kinds.ts';
import { readMigrations } from './migrations.ts';
import { files, type Gate } from './run.ts';
import {
  below,
  methodOf,
  Source,
  stringOf,
  stringsIn,
  textOf,
  type Call,
  type Declaration,
  type Node,
} from './source.ts';

const src = 'apps/server/src';

/** What a rule lets pass: `file#declaration`, below apps/server/src, with the reason. One that is not needed fails. */
export type Exceptions = Record<'acrossTenants' | 'rawSql' | 'interpolated' | 'clock', Record<string, string>>;

const exceptions: Exceptions = {
  acrossTenants: {
    'modules/auth/accounts/accounts.queries.ts#findAccountByEmail':
      'login lists the tenants of a person, before one is chosen',
    'modules/integrations/traffic/traffic.queries.ts#calls': 'system administration sees the calls of all tenants',
    'modules/integrations/traffic/traffic.queries.ts#hours': 'system administration sees the calls of all tenants',
    'modules/integrations/traffic/traffic.queries.ts#events': 'system administration sees how all connectors are',
    'modules/integrations/traffic/connectors.queries.ts#connectors':
      'system administration sees how all connectors are',
    'modules/integrations/overrides/overrides.queries.ts#overrides':
      'system administration sees the overrides of all tenants',
    'modules/integrations/overrides/overrides.queries.ts#findOwner':
      'system administration deletes an override of any tenant by its id',
    'modules/storage/storage.queries.ts#sumStorage': 'system administration sums up what all tenants store',
    'modules/storage/cleaning.queries.ts#listUnsettled': 'housekeeping over all tenants, outside of requests',
    'modules/storage/cleaning.queries.ts#listStorages': 'housekeeping over all tenants, outside of requests',
    'core/http/idempotency/idempotency.queries.ts#deleteExpiredKeys':
      'housekeeping over all tenants, outside of requests',
    'core/data/usage/usage.queries.ts#deleteOldUsage': 'housekeeping over all tenants, outside of requests',
    'core/platform/outbound/call-log.queries.ts#deleteOldCallHours':
      'housekeeping over all tenants, outside of requests',
    'modules/connectors/health/health.queries.ts#listQuietConnectors':
      'connectors of all tenants are checked, outside of requests',
    'modules/connectors/health/health.queries.ts#deleteOldConnectorEvents':
      'housekeeping over all tenants, outside of requests',
    'modules/connectors/overrides/quotas.queries.ts#deleteOldQuota':
      'housekeeping over all tenants, outside of requests',
    'modules/auth/sessions/sessions.queries.ts#deleteEndedSessions':
      'housekeeping over all tenants, outside of requests',
    'modules/system/system.queries.ts#countConnectors':
      'health of the installation counts the connectors of all tenants',
    'modules/translation/memory/memory.queries.ts#listMemories': 'housekeeping finds the tenants that have some',
    'modules/translation/entities/marks.queries.ts#listMarkedTenants': 'housekeeping finds the tenants that have some',
    'modules/translation/jobs/jobs.queries.ts#listAbandonedJobs': 'housekeeping over all tenants, outside of requests',
    'modules/translation/jobs/jobs.queries.ts#deleteOldJobs': 'housekeeping over all tenants, outside of requests',
    'modules/notifications/deliveries/deliveries.queries.ts#listWaiting':
      'a process finds the work that another one left behind, outside of requests',
    'modules/notifications/notices/notices.queries.ts#listTenantsWithQueued':
      'a process finds the work that another one left behind, outside of requests',
    'modules/notifications/notices/notices.queries.ts#listTenantsWithOld':
      'housekeeping over all tenants, outside of requests',
    'modules/tenants/administration.queries.ts#filtered': 'system administration lists the tenants there are',
    'modules/tenants/purge.queries.ts#listDueTenants': 'housekeeping over all tenants, outside of requests',
  },
  rawSql: {
    'core/data/db/rows.ts#lockKey': 'the name of a lock from the code',
    'modules/contacts/contact-links.queries.ts#contactJson': 'names of columns from a list in the code',
  },
  interpolated: {
    'modules/tenants/purge.queries.ts#deleteRows': 'names of tables and columns from the catalog',
    'core/data/db/migrate.ts#createRoles': 'a role takes no parameter; the names are constants',
    'core/data/db/migrate.ts#createAuditPartitions': 'DDL takes no parameter; the text is made of a date',
    'core/data/db/day-partitions.ts#createPartition':
      'DDL takes no parameter; the text is made of a constant and a date',
    'core/data/db/day-partitions.ts#dropPartition': 'DDL takes no parameter; the name was matched against a pattern',
    'core/data/db/day-partitions.ts#cleanDefaultPartition': 'names of a table and a column from a list in the code',
    'core/data/db/listener.ts#subscribe': 'LISTEN takes no parameter; the channel is escaped as an identifier',
    'core/data/db/session.ts#limitTo': 'SET takes no parameter; the text is made of a name from the code and a number',
    'core/data/db/embedded/cluster.ts#initialise': 'single-user mode takes no parameter; the name is a constant',
    'core/data/db/embedded/endpoint.ts#setPassword': 'single-user mode takes no parameter; the password is hexadecimal',
  },
  clock: {
    'core/data/db/lease.ts#databaseNow': 'leases that processes compare; tests end one by writing lease_until',
  },
};

/** Every statement names its tenant, besides row level security: that isolates, but only the text routes. */
export const queries: Gate = {
  name: 'queries',
  async find(root) {
    const texts = (await readMigrations(root)).map(({ text }) => text);
    const tenantTables = tenantTablesIn(texts.join('\n'));
    const paths = (await files(root, `${src}/**/*.ts`)).filter((file) => !/\.test\.ts$|\/testing\//.test(file));
    if (!paths.some((file) => file.endsWith('.queries.ts'))) return [`${src} holds no *.queries.ts`];
    const read = async (file: string) => new Source(file, await readFile(path.join(root, file), 'utf8'));
    return findInQueries(await Promise.all(paths.map(read)), tenantTables, exceptions);
  },
};

export function findInQueries(
  sources: readonly Source[],
  tenantTables: readonly string[],
  lists: Exceptions,
): string[] {
  const used = new Set<string>();
  const problems: string[] = [];
  for (const source of sources) {
    for (const declaration of source.declarations) {
      const key = `${source.file.replace(`${src}/`, '')}#${declaration.name}`;
      for (const { rule, node, message } of findIn(source, declaration, new Set(tenantTables))) {
        if (rule !== undefined && key in lists[rule]) used.add(`${rule} ${key}`);
        else problems.push(`${source.place(node)}: ${message}`);
      }
    }
  }
  for (const [rule, list] of Object.entries(lists)) {
    const stale = Object.keys(list).filter((key) => !used.has(`${rule} ${key}`));
    problems.push(...stale.map((key) => `${key} needs no exception from "${rule}" any more`));
  }
  return problems;
}

type Finding = { rule?: keyof Exceptions; node: Node; message: string };
type Context = { source: Source; declaration: Declaration; tenantTables: ReadonlySet<string> };

function findIn(source: Source, declaration: Declaration, tenantTables: ReadonlySet<string>): Finding[] {
  const context = { source, declaration, tenantTables };
  const findings = [declaration.node, ...below(declaration.node)].flatMap((node) => [
    ...chainFindings(context, node),
    ...tableFindings(context, node),
    ...rawFindings(node),
    ...textFindings(context, node),
  ]);
  return [...findings, ...kindFindings(source, declaration)];
}

const starts = new Set(['selectFrom', 'updateTable', 'deleteFrom', 'insertInto']);
const joins = /^(inner|left|right|full|cross)(Lateral)?Join$|^using$/;

function chainFindings(context: Context, node: Node): Finding[] {
  const method = methodOf(node);
  if (method === 'mergeInto') return [{ node, message: 'no MERGE' }];
  if (method === undefined || !starts.has(method)) return [];
  const [start, ...rest] = context.source.chain(node) as [Call, ...Call[]];
  const named = tablesOf(start);
  const isHelper = named === undefined && helpers.test(context.source.file);
  const unnamed: Finding[] =
    named === undefined && !isHelper ? [{ node, message: `${method} has to name its table literally` }] : [];
  const starting = isHelper ? [anyTable] : (named ?? []).filter(({ table }) => context.tenantTables.has(table));
  const missing = starting.filter(({ table, alias }) =>
    method === 'insertInto' ? !insertsTenant(context, table) : !rest.some((call) => isTenantFilter(call, table, alias)),
  );
  const joined = rest
    .filter((call) => joins.test(call.name))
    .flatMap((call) => joinFindings(context, call, rest, starting.length > 0));
  return [
    ...unnamed,
    ...missing.map(({ table }) => needsTenant(node, table)),
    ...joined,
    ...rest.flatMap(assignmentFindings),
  ];
}

/** The statements that are built for a `TenantTable`: its name is a variable, so each of them names the tenant. */
const helpers = /\/core\/data\/(db\/(rows|trees|translatable-texts)|audit\/audited-rows\.queries)\.ts$/;
const anyTable = { table: '${}', alias: '${}' };

/** `tenantTable('users')`: the helpers that take it filter by its tenant. */
function tableFindings({ source, tenantTables }: Context, node: Node): Finding[] {
  const callee = node.type === 'CallExpression' ? (node['callee'] as { value?: string }).value : undefined;
  if (callee !== 'tenantTable' || !source.imports(callee, '#core/data/db/rows')) return [];
  const name = stringOf(source.chain(node)[0]!.args[0]);
  if (name !== undefined && name !== 'tenants' && tenantTables.has(name)) return [];
  return [{ node, message: 'tenantTable has to name a table with tenant_id literally' }];
}

function needsTenant(node: Node, table: string): Finding {
  return {
    rule: 'acrossTenants',
    node,
    message: `${table} is read or changed without its tenant in the statement. ${remedy(table)}`,
  };
}

function remedy(table: string): string {
  return `Add ${tenantColumn(table)} = $1; a statement of a job over all tenants needs its reason in tools/checks/queries.ts, in acrossTenants.`;
}

/** Undefined when a name is computed; empty for a subquery. */
function tablesOf({ args: [first] }: Call): { table: string; alias: string }[] | undefined {
  if (first === undefined || first.type === 'ArrowFunctionExpression') return [];
  if (first.type === 'CallExpression' && methodOf(first) === 'as') return [];
  const text = stringOf(first);
  const [table, alias] = text?.split(/\s+as\s+/) ?? [];
  return table === undefined ? undefined : [{ table, alias: alias ?? table }];
}

/** `tenants` is a tenant by its own id. */
function tenantColumn(table: string): string {
  return table === 'tenants' ? 'id' : 'tenant_id';
}

function isTenantFilter({ name, args: [column, operator, value] }: Call, table: string, alias: string): boolean {
  const names = [tenantColumn(table), `${alias}.${tenantColumn(table)}`];
  if (name !== 'where' || stringOf(operator) !== '=' || !names.includes(column ? textOf(column) : '')) return false;
  return value?.type === 'MemberExpression' || value?.type === 'Identifier';
}

/** A joined table is filtered itself, or equated by its tenant with one that is. */
function joinFindings(
  { tenantTables }: Context,
  join: Call,
  rest: readonly Call[],
  startsInTenant: boolean,
): Finding[] {
  return (tablesOf(join) ?? []).flatMap(({ table, alias }) => {
    if (!tenantTables.has(table)) return [];
    const strings = join.args.slice(1).flatMap(stringsIn);
    const own = `${alias}.${tenantColumn(table)}`;
    const equated = strings.includes(own) && strings.some((text) => text !== own && text.endsWith('.tenant_id'));
    const filtered = rest.some((call) => isTenantFilter(call, table, alias) && stringOf(call.args[0]) === own);
    return filtered || (equated && startsInTenant) ? [] : [needsTenant(join.node, table)];
  });
}

/** In the declaration, or in a constant of the file that it names. */
function insertsTenant({ source, declaration }: Context, table: string): boolean {
  if (table === 'tenants') return true;
  const named = source.declarations.filter(
    ({ name, node }) =>
      node.type === 'VariableDeclaration' && name !== '' && new RegExp(`\\b${name}\\b`).test(declaration.text),
  );
  return [declaration, ...named].some(({ text }) => /\btenant_id\b/.test(text));
}

function assignmentFindings({ name, args, node }: Call): Finding[] {
  if (name !== 'set') return [];
  const keys = args
    .flatMap((arg) => (arg['properties'] as Node[] | undefined) ?? [])
    .map((property) => property['key']);
  const moves = keys.some((key) => (key as { value?: string } | undefined)?.value === 'tenant_id');
  return moves ? [{ node, message: 'a row never changes its tenant' }] : [];
}

const inlined = new Set(['raw', 'lit', 'literal']);

/** `sql.raw` and its like put a value into the text itself. */
function rawFindings(node: Node): Finding[] {
  if (node.type !== 'MemberExpression' || (node['object'] as { value?: string }).value !== 'sql') return [];
  const name = (node['property'] as { value?: string }).value ?? '';
  return inlined.has(name) ? [{ rule: 'rawSql', node, message: `sql.${name} needs its reason in the list` }] : [];
}

const statementStart =
  /^\s*(select|insert\s+into|update\s+\w+\s+set|delete\s+from|merge\s+into|with\s+\w+\s+as\s*\(|(create|alter|drop)\s+(role|table|database|index|schema|extension|policy)|grant|revoke|truncate|listen|notify|set\s+(local|session|role))\s/i;

// Prose that begins like SQL is capitalised: "Select a tenant".
function isSql(text: string): boolean {
  return statementStart.test(text) && !/^\s*[A-Z][a-z]/.test(text);
}

const outlawed: [RegExp, string][] = [
  [/\bset_config\s*\(/i, 'no set_config(): it does not reach the workers of a distributed database'],
  [/\bset\s+(session\s+)?app\./i, 'the tenant is SET LOCAL, or it leaks through a pooler'],
];
const outlawedInSql: [RegExp, string, (keyof Exceptions)?][] = [
  [/\bmerge\s+into\b/i, 'no MERGE'],
  [
    /\b(now|random|(clock|statement|transaction)_timestamp|gen_random_uuid|uuidv7)\s*\(|\bcurrent_(date|time)/i,
    'time and chance come in as parameters',
    'clock',
  ],
];

function textFindings(context: Context, node: Node): Finding[] {
  const parent = context.source.parent(node);
  const isTagged = parent?.type === 'TaggedTemplateExpression';
  if (node.type !== 'StringLiteral' && node.type !== 'TemplateLiteral') return [];
  const text = textOf(node);
  const of = (list: [RegExp, string, (keyof Exceptions)?][]): Finding[] =>
    list
      .filter(([pattern]) => pattern.test(text))
      .map(([, message, rule]) => ({ node, message, ...(rule === undefined ? {} : { rule }) }));
  if (!isTagged && !isSql(text)) return of(outlawed);
  const isDefinition = /^\s*(create|alter)\b/i.test(text);
  const computed = text.includes('${') || parent?.type === 'BinaryExpression';
  const interpolated: Finding[] =
    !isTagged && computed
      ? [{ rule: 'interpolated', node, message: 'values are passed as $1, not into the text' }]
      : [];
  return [
    ...of(outlawed),
    ...of(isDefinition ? [] : outlawedInSql),
    ...interpolated,
    ...sqlFindings(context, node, text),
  ];
}

const mention =
  /\b(from|join|update|into|using)\s+(?:only\s+)?(\w+)(?:\s+as)?(?:\s+(?!on\b|where\b|set\b|using\b|values\b|\w*\s*join\b|order\b|limit\b|returning\b|do\b)(\w+))?/gi;

/** The same for SQL that is written out. */
function sqlFindings({ tenantTables }: Context, node: Node, text: string): Finding[] {
  const given = /\btenant_id\s*=\s*\$|\btenants\b[^]*\bid\s*=\s*\$/i.test(text);
  return [...text.matchAll(mention)].flatMap(([, word, table, alias]) => {
    if (!tenantTables.has(table!)) return [];
    if (word!.toLowerCase() === 'into') return /\btenant_id\b/.test(text) ? [] : [needsTenant(node, table!)];
    const name = `(${alias ?? table}\\.)${word!.toLowerCase() === 'join' ? '' : '?'}${tenantColumn(table!)}`;
    const equated = new RegExp(`\\b${name}\\s*=\\s*(\\$|\\w+\\.tenant_id\\b)|\\btenant_id\\s*=\\s*${name}\\b`, 'i');
    return given && equated.test(text) ? [] : [needsTenant(node, table!)];
  });
}
