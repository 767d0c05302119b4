import type { Database } from '#core/data/db/database';
import { sharesMemory } from '#core/data/db/per-database';
import type { Query } from '#core/data/db/query';
import type { Reads, Statements, TenantDb, Transaction } from '#core/data/db/scopes';
import { tookNoEffect } from '#core/data/db/sql-state';

/** Told of each statement as it is sent; what it returns is called once it is certain that the statement took no effect. */
export type Note = (query: Query<unknown>) => () => void;

type Scope = Pick<TenantDb, 'interactive' | 'transaction' | keyof Reads>;

/** The same database, but `note` is called for every statement that may have taken effect through it. */
export function watchDatabase(database: Database, note: Note): Database {
  const watched: Database = {
    ...database,
    tenant: (tenantId) => watchScope(database.tenant(tenantId), note),
    platform: () => watchScope(database.platform(), note),
    credential: (tenantId) => watchScope(database.credential(tenantId), note),
    purge: (tenantId) => watchScope(database.purge(tenantId), note),
  };
  return sharesMemory(watched, database);
}

function watchScope<Db extends Scope>(db: Db, note: Note): Db {
  const { tenantId } = db as { tenantId?: string };
  const watched: Scope & { tenantId: string | undefined } = {
    tenantId,
    ...watchStatements(db as unknown as Statements, note),
    interactive: watchStatements(db.interactive, note),
    transaction: (work) => watchTransaction(db, work, note),
  };
  return watched as unknown as Db;
}

function watchStatements(statements: Statements, note: Note): Statements {
  const watch = async <Result>(queries: readonly Query<unknown>[], send: () => Promise<Result>): Promise<Result> => {
    const noted = queries.map(note);
    try {
      return await send();
    } catch (error) {
      if (tookNoEffect(error)) for (const withdraw of noted) withdraw();
      throw error;
    }
  };
  return {
    all: (query) => watch([query], () => statements.all(query)),
    first: (query) => watch([query], () => statements.first(query)),
    batch: (queries) => watch(queries, () => statements.batch(queries)),
  };
}

/** A failure before the commit is sent means a rollback, at the latest with the end of the connection. */
async function watchTransaction<Result>(
  db: Scope,
  work: (tx: Transaction) => Promise<Result>,
  note: Note,
): Promise<Result> {
  const noted: (() => void)[] = [];
  let isEnding = false;
  const withdrawAll = () => {
    for (const withdraw of noted.splice(0)) withdraw();
    isEnding = false;
  };
  try {
    return await db.transaction(async (tx) => {
      // Of an attempt that PostgreSQL broke off nothing is left.
      withdrawAll();
      const result = await work({
        all: (query) => (noted.push(note(query)), tx.all(query)),
        first: (query) => (noted.push(note(query)), tx.first(query)),
      });
      isEnding = true;
      return result;
    });
  } catch (error) {
    if (!isEnding || tookNoEffect(error)) withdrawAll();
    throw error;
  }
}
