import { sql } from 'kysely';

import {
  lock,
  queryBuilder,
  read,
  write,
  type LockStatement,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';

/** What a column holds: only its type matters. */
export type Column<Value> = { readonly value?: Value };

/** A column with values of this type, or with null as well. */
export function typed<Value>(): Column<Value> & { readonly orNull: Column<Value | null> } {
  return { orNull: {} };
}

export const uuid = typed<string>();
export const text = typed<string>();
export const time = typed<string>();
export const integer = typed<number>();
export const flag = typed<boolean>();
export const json = typed<Record<string, unknown>>();

type Columns = Readonly<Record<string, Column<unknown>>>;
type Values<Of> = { -readonly [Name in keyof Of]: Of[Name] extends Column<infer Value> ? Value : never };
type Condition = readonly [column: string, operator: '=' | '<>' | 'is', value: string | null];

/** The columns of a tenant table that a module uses; statements select them in this order. */
export type TenantTable<Row> = {
  readonly name: string;
  readonly columns: readonly (keyof Row & string)[];
  /** Apply to every statement that is built for the table. */
  readonly conditions: readonly Condition[];
  readonly row?: Row;
};

export type RowOf<Table> = Table extends TenantTable<infer Row> ? Row : never;

/**
 * A table with the columns `tenant_id` and `id`. The gate `queries` compares its name with the migrations.
 * @param columns those that the module uses; `id` if none are given
 */
export function tenantTable(name: string): TenantTable<{ id: string }>;
export function tenantTable<Of extends Columns>(
  name: string,
  columns: Of,
  ...conditions: readonly Condition[]
): TenantTable<Values<Of>>;
export function tenantTable(
  name: string,
  columns: Columns = { id: uuid },
  ...conditions: readonly Condition[]
): unknown {
  return { name, columns: Object.keys(columns), conditions };
}

export type ById = { tenantId: string; id: string };
export type ByIds = { tenantId: string; ids: readonly string[] };

const builder = queryBuilder<Record<string, Record<string, unknown>>>();

type Source = Omit<TenantTable<unknown>, 'row' | 'columns'> & { readonly columns: readonly string[] };

function selectById({ name, columns, conditions }: Source, names: readonly string[], p: ById) {
  const row = builder
    .selectFrom(name)
    .select(names.length > 0 ? names : columns)
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id);
  return conditions.reduce((query, condition) => query.where(...condition), row);
}

function selectByIds({ name, columns, conditions }: Source, names: readonly string[], p: ByIds) {
  const rows = builder
    .selectFrom(name)
    .select(names.length > 0 ? names : columns)
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`);
  return conditions.reduce((query, condition) => query.where(...condition), rows);
}

type NameOf<Row> = keyof Row & string;

/** Reads a row by its id. @param names of the columns to select, all if none is given */
export function rowById<Row, Name extends NameOf<Row> = NameOf<Row>>(
  table: TenantTable<Row>,
  ...names: readonly Name[]
): (p: ById) => ReadStatement<Pick<Row, Name>> {
  return read((p) => selectById(table, names, p) as never);
}

/** Reads the existing rows of some ids. */
export function rowsByIds<Row, Name extends NameOf<Row> = NameOf<Row>>(
  table: TenantTable<Row>,
  ...names: readonly Name[]
): (p: ByIds) => ReadStatement<Pick<Row, Name>> {
  return read((p) => selectByIds(table, names, p) as never);
}

type Locking = { forUpdate(): Locking; forNoKeyUpdate(): Locking; forShare(): Locking; forKeyShare(): Locking };

const strengths = {
  'for update': (rows: Locking) => rows.forUpdate(),
  'for no key update': (rows: Locking) => rows.forNoKeyUpdate(),
  'for share': (rows: Locking) => rows.forShare(),
  'for key share': (rows: Locking) => rows.forKeyShare(),
};
type Strength = keyof typeof strengths;

/** Reads a row by its id and locks it until the transaction ends. */
export function lockById<Row, Name extends NameOf<Row> = NameOf<Row>>(
  table: TenantTable<Row>,
  strength: Strength,
  ...names: readonly Name[]
): (p: ById) => LockStatement<Pick<Row, Name>> {
  return lock((p) => strengths[strength](selectById(table, names, p)) as never);
}

/** Reads rows and locks them until the transaction ends, in the order of their ids to avoid deadlocks. */
export function lockByIds<Row, Name extends NameOf<Row> = NameOf<Row>>(
  table: TenantTable<Row>,
  strength: Strength,
  ...names: readonly Name[]
): (p: ByIds) => LockStatement<Pick<Row, Name>> {
  return lock((p) => strengths[strength](selectByIds(table, names, p).orderBy('id')) as never);
}

/** Reads the id of any row that refers to the given id. */
export function anyReferrer<Row>(
  table: TenantTable<Row>,
  reference: NameOf<Row>,
): (p: ById) => ReadStatement<{ id: string }> {
  const column: string = reference;
  return read((p) => {
    const rows = builder.selectFrom(table.name).select('id').where('tenant_id', '=', p.tenantId);
    return rows.where(column, '=', p.id).limit(1) as never;
  });
}

/** Deletes a row by its id, without an audit row. */
export function deleteById({ name }: { readonly name: string }): (p: ById) => WriteStatement<never> {
  return write<ById, never>((p) => builder.deleteFrom(name).where('tenant_id', '=', p.tenantId).where('id', '=', p.id));
}

/** Lists ids in ascending order, starting after `after`. */
export function idsAfter({
  name,
}: {
  readonly name: string;
}): (p: { tenantId: string; after: string; max: number }) => ReadStatement<{ id: string }> {
  return read(
    (p) =>
      builder
        .selectFrom(name)
        .select('id')
        .where('tenant_id', '=', p.tenantId)
        .where('id', '>', p.after)
        .orderBy('id')
        .limit(p.max) as never,
  );
}

/** Serialises the transactions of a tenant that take the same lock. @param name of what it protects */
export function tenantLock(name: string): (p: { tenantId: string }) => LockStatement<never> {
  return lock<{ tenantId: string }, never>((p) => sql`select pg_advisory_xact_lock(${lockKey(name, p.tenantId)})`);
}

/** The same lock, which transactions may share with each other. */
export function sharedTenantLock(name: string): (p: { tenantId: string }) => LockStatement<never> {
  return lock<{ tenantId: string }, never>(
    (p) => sql`select pg_advisory_xact_lock_shared(${lockKey(name, p.tenantId)})`,
  );
}

// The name is part of the text, which is prepared once for each lock.
function lockKey(name: string, tenantId: string) {
  return sql`hashtextextended(${sql.lit(`${name}:`)} || ${tenantId}::text, 0)`;
}
