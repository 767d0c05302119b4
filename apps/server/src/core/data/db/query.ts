import {
  Kysely,
  DummyDriver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type CompiledQuery,
  type RawBuilder,
} from 'kysely';

/**
 * What a statement does: `read` changes and locks nothing, `lock` only locks until the end of the transaction, `write` changes
 * rows or notifies, `audited` also writes an audit row.
 */
type Kind = 'read' | 'lock' | 'write' | 'audited';

/** One statement with its values, ready for the wire. `Row` is what each row looks like. */
export type Query<Row> = {
  readonly kind: Kind;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Keep it as a named prepared statement: only for a fixed set of texts. */
  readonly prepare: boolean;
  /** The plan does not depend on the values, and making it takes longer than running it: once for all of them. */
  readonly onePlan?: boolean;
  readonly row?: Row;
};

type Statement<Of extends Kind, Row> = Query<Row> & { readonly kind: Of };
/** The only kind that the read path takes. */
export type ReadStatement<Row> = Statement<'read', Row>;
export type LockStatement<Row> = Statement<'lock', Row>;
export type WriteStatement<Row> = Statement<'write' | 'audited', Row>;

type Compilable = { compile(builder: Kysely<unknown>): Pick<CompiledQuery, 'sql' | 'parameters'> };

/**
 * A built statement that answers rows of this shape, or one of written out SQL. `execute` is never called, but it is what
 * carries the shape.
 */
export type Built<Row> = [Row] extends [never]
  ? Compilable
  : (Compilable & { execute(): Promise<Row[]> }) | RawBuilder<Row>;

declare const audited: unique symbol;

/** A built statement that writes an audit row: `withAudit` returns one, and only `auditedWrite` and `toAuditedWrite` take it. */
export type Audited<Row> = Built<Row> & { readonly [audited]: true };

type BuiltAs<Of extends Kind, Row> = Of extends 'audited' ? Audited<Row> : Built<Row> & { readonly [audited]?: never };

/** A Kysely that only builds SQL; statements run through the flights of `TenantDb` and its siblings. */
export function queryBuilder<Tables>(): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}

const compiler = queryBuilder<unknown>();

class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Declares statements of fixed text: each is built and compiled once, then only its values change.
 * Compiling per request cost more than the whole round trip to PostgreSQL.
 */
function fixed<Of extends Kind>(kind: Of) {
  return <Params extends Record<string, unknown>, Row>(
    build: (params: Params) => BuiltAs<Of, Row>,
  ): ((params: Params) => Statement<Of, Row>) => {
    let text: string | undefined;
    let slots: readonly unknown[] = [];
    return (params) => {
      if (text === undefined) {
        const placeholders = new Proxy({} as Params, { get: (_, name) => new Placeholder(String(name)) });
        const compiled = build(placeholders).compile(compiler);
        text = compiled.sql;
        slots = compiled.parameters;
      }
      const values = slots.map((slot) => (slot instanceof Placeholder ? params[slot.name] : slot));
      return { kind, text, values, prepare: true };
    };
  };
}

/** For statements whose text depends on the request (filters, patches): compiled each time, not prepared. */
function variable<Of extends Kind>(kind: Of) {
  return <Row>(builder: BuiltAs<Of, Row>): Statement<Of, Row> => {
    const compiled = builder.compile(compiler);
    return { kind, text: compiled.sql, values: compiled.parameters, prepare: false };
  };
}

export const read = fixed('read');
export const lock = fixed('lock');
export const write = fixed('write');
export const auditedWrite = fixed('audited');
export const toRead = variable('read');
export const toWrite = variable('write');
export const toAuditedWrite = variable('audited');

/** The words of a search box as LIKE patterns, each of which has to be found; compare with `lower(pattern)`. */
export function searchPatterns(search: string | undefined): string[] {
  const words = (search ?? '').split(/\s+/).filter((word) => word !== '');
  return words.slice(0, 10).map((word) => `%${word.replaceAll(/[\\%_]/g, (char) => `\\${char}`)}%`);
}
