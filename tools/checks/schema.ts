import { splitStatements } from '../../apps/server/src/core/db/migrate.ts';

export type Migration = { name: string; text: string };
/** One statement as the service sends it: lower case outside of quotes, no comments, one space between words. */
export type Statement = { place: string; sql: string };
export type Key = { place: string; kind: 'primary' | 'unique' | 'index'; columns: string[] };
export type Reference = { place: string; columns: string[]; target: string; targetColumns: string[] };
export type Policy = { place: string; name: string; command: string; roles: string[]; conditions: string[] };

export type Table = {
  place: string;
  name: string;
  columns: Map<string, string>;
  keys: Key[];
  references: Reference[];
  policies: Policy[];
  /** The column that cuts the table into partitions. */
  partitionedBy: string | undefined;
  isPartition: boolean;
  security: Set<string>;
};

export type Schema = Map<string, Table>;

export function readStatements({ name, text }: Migration): Statement[] {
  let from = 0;
  return splitStatements(text).map((statement) => {
    const at = text.indexOf(statement, from);
    from = at + statement.length;
    return { place: `${name}:${text.slice(0, at).split('\n').length}`, sql: normal(statement) };
  });
}

const quoted = /'(?:[^']|'')*'|\$\$[^]*?\$\$/;
const pieceByPiece = new RegExp(`${quoted.source}|.`, 'g');
const pieces = new RegExp(`${quoted.source}|--[^\\n]*|/\\*[^]*?\\*/|\\s+|[^\\s'$/-]+|.`, 'g');

function normal(statement: string): string {
  const text = statement.replace(pieces, (piece) => {
    if (piece.startsWith('--') || piece.startsWith('/*') || piece.trim() === '') return ' ';
    return piece.startsWith("'") ? piece : piece.toLowerCase();
  });
  return text.replaceAll(/ +/g, ' ').replaceAll('( ', '(').replaceAll(' )', ')').trim();
}

/** The statement without what stands in quotes and in function bodies. */
export function bare(sql: string): string {
  return sql.replaceAll(new RegExp(quoted, 'g'), "''");
}

/** The tables as the statements leave them. */
export function readSchema(statements: readonly Statement[]): Schema {
  const schema: Schema = new Map();
  for (const statement of statements) {
    for (const [pattern, apply] of readers) {
      const match = pattern.exec(statement.sql);
      if (match !== null) apply(schema, match, statement.place);
    }
  }
  return schema;
}

/** Whether the statement changes the picture that `readSchema` makes. */
export function isRead(sql: string): boolean {
  return readers.some(([pattern]) => pattern.test(sql));
}

type Reader = (schema: Schema, match: RegExpExecArray, place: string) => void;

const readers: [RegExp, Reader][] = [
  [/^create (?:unlogged )?table (?:if not exists )?(\w+) ?(\(.*\)(?: partition by \w+ ?\(\w+\))?);$/, addTable],
  [/^create table (?:if not exists )?(\w+) partition of /, addPartition],
  [/^drop table (?:if exists )?(\w+)/, (schema, match) => void schema.delete(match[1]!)],
  [/^alter table (?:only )?(\w+) add (?:column (?:if not exists )?)?(.*);$/, addItems],
  [/^alter table (?:only )?(\w+) (enable|force) row level security;$/, addSecurity],
  [/^create (unique )?index .*?\bon (?:only )?(\w+) ?(?:using \w+ ?)?(\(.*)$/, addIndex],
  [
    /^create policy (\w+) on (\w+)(?: as \w+)?(?: for (\w+))?(?: to ([\w, ]+?))?(?: using \((.*?)\))?(?: with check \((.*)\))?;$/,
    addPolicy,
  ],
  [/^drop policy (?:if exists )?(\w+) on (\w+)/, dropPolicy],
];

function emptyTable(name: string, place: string): Table {
  const lists = { keys: [], references: [], policies: [] };
  return {
    name,
    place,
    ...lists,
    columns: new Map(),
    security: new Set(),
    partitionedBy: undefined,
    isPartition: false,
  };
}

function addTable(schema: Schema, [, name, rest]: RegExpExecArray, place: string): void {
  const partitionedBy = /\) partition by \w+ ?\((\w+)\)$/.exec(rest!)?.[1];
  const table = { ...emptyTable(name!, place), partitionedBy };
  schema.set(name!, table);
  for (const item of splitTop(balanced(rest!))) addItem(table, item, place);
}

function addPartition(schema: Schema, [, name]: RegExpExecArray, place: string): void {
  schema.set(name!, { ...emptyTable(name!, place), isPartition: true });
}

function addItems(schema: Schema, [, name, items]: RegExpExecArray, place: string): void {
  const table = schema.get(name!);
  if (table === undefined) return;
  for (const item of splitTop(items!)) addItem(table, item.replace(/^add (column )?/, ''), place);
}

function addItem(table: Table, item: string, place: string): void {
  const text = item.replace(/^constraint \w+ /, '');
  const key = /^(primary|unique)(?: key)?(?: nulls (?:not )?distinct)? ?\((.*?)\)/.exec(text);
  const foreign = /^foreign key ?\((.*?)\) references (\w+) ?\((.*?)\)/.exec(text);
  if (key !== null) table.keys.push({ place, kind: key[1] as Key['kind'], columns: splitTop(key[2]!) });
  else if (foreign !== null) {
    const [columns, targetColumns] = [splitTop(foreign[1]!), splitTop(foreign[3]!)];
    table.references.push({ place, columns, target: foreign[2]!, targetColumns });
  } else if (!/^(check|exclude|like)\b/.test(text)) addColumn(table, text, place);
}

function addColumn(table: Table, text: string, place: string): void {
  const [name = ''] = text.split(' ');
  table.columns.set(name, text.slice(name.length + 1));
  const key = /\b(primary) key\b|\b(unique)\b/.exec(bare(text));
  if (key !== null) table.keys.push({ place, kind: (key[1] ?? key[2]) as Key['kind'], columns: [name] });
  const target = /\breferences (\w+)(?: ?\((\w+)\))?/.exec(text);
  if (target !== null) {
    table.references.push({ place, columns: [name], target: target[1]!, targetColumns: [target[2] ?? ''] });
  }
}

function addSecurity(schema: Schema, [, name, what]: RegExpExecArray): void {
  schema.get(name!)?.security.add(what!);
}

function addIndex(schema: Schema, [, unique, name, rest]: RegExpExecArray, place: string): void {
  const columns = splitTop(balanced(rest!));
  schema.get(name!)?.keys.push({ place, kind: unique === undefined ? 'index' : 'unique', columns });
}

function addPolicy(schema: Schema, match: RegExpExecArray, place: string): void {
  const [, name = '', table = '', command = 'all', roles = '', ...conditions] = match;
  const given = conditions.filter((condition) => condition !== undefined);
  schema.get(table)?.policies.push({ place, name, command, roles: roles.split(/, ?/), conditions: given });
}

function dropPolicy(schema: Schema, [, name, table]: RegExpExecArray): void {
  const known = schema.get(table!);
  if (known !== undefined) known.policies = known.policies.filter((policy) => policy.name !== name);
}

/** What stands inside the first pair of parentheses. */
function balanced(text: string): string {
  let depth = 0;
  for (const { 0: piece, index } of text.matchAll(pieceByPiece)) {
    if (piece === '(') depth += 1;
    if (piece === ')' && --depth === 0) return text.slice(1, index);
  }
  return text;
}

/** Cuts at the commas that stand in no parentheses and no quotes. */
function splitTop(text: string): string[] {
  const items = [''];
  let depth = 0;
  for (const [piece] of text.matchAll(pieceByPiece)) {
    if (piece === '(') depth += 1;
    if (piece === ')') depth -= 1;
    if (piece === ',' && depth === 0) items.push('');
    else items[items.length - 1] += piece;
  }
  return items.map((item) => item.trim());
}
