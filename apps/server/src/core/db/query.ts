import {
  Kysely,
  DummyDriver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type CompiledQuery,
} from 'kysely';

/** One statement with its values, ready for the wire. `Row` is what each row looks like. */
export type Query<Row> = {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Keep it as a named prepared statement: only for a fixed set of texts. */
  readonly prepare: boolean;
  /** The plan does not depend on the values, and making it takes longer than running it: once for all of them. */
  readonly onePlan?: boolean;
  readonly row?: Row;
};

type Compilable = { compile(): Pick<CompiledQuery, 'sql' | 'parameters'> };

/** A built statement that answers rows of this shape; `execute` is never called, but it is what carries the shape. */
export type Built<Row> = [Row] extends [never] ? Compilable : Compilable & { execute(): Promise<Row[]> };

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

/** For statements whose text depends on the request (filters, patches): compiled each time, not prepared. */
export function toQuery<Row>(builder: Built<Row>): Query<Row> {
  const compiled = builder.compile();
  return { text: compiled.sql, values: compiled.parameters, prepare: false };
}

class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A statement of fixed text: built and compiled once, then only its values change.
 * Compiling per request cost more than the whole round trip to PostgreSQL.
 */
export function statement<Params extends Record<string, unknown>, Row>(
  build: (params: Params) => Built<Row>,
): (params: Params) => Query<Row> {
  let text: string | undefined;
  let slots: readonly unknown[] = [];
  return (params) => {
    if (text === undefined) {
      const placeholders = new Proxy({} as Params, { get: (_, name) => new Placeholder(String(name)) });
      const compiled = build(placeholders).compile();
      text = compiled.sql;
      slots = compiled.parameters;
    }
    const values = slots.map((slot) => (slot instanceof Placeholder ? params[slot.name] : slot));
    return { text, values, prepare: true };
  };
}

/** The words of a search box as LIKE patterns, each of which has to be found; compare with `lower(pattern)`. */
export function searchPatterns(search: string | undefined): string[] {
  const words = (search ?? '').split(/\s+/).filter((word) => word !== '');
  return words.slice(0, 10).map((word) => `%${word.replaceAll(/[\\%_]/g, (char) => `\\${char}`)}%`);
}
