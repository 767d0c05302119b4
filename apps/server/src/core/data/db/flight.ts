import pg, { DatabaseError } from 'pg';
import { serialize } from 'pg-protocol';

import type { Query } from '#core/data/db/query';
import { textParser, toWireValue } from '#core/data/db/values';

type Column = { name: string; parse: (text: string) => unknown };

/** State of a statement that a connection has prepared. */
type Prepared = {
  name: string;
  /** Undefined until the server has run it for the first time. */
  columns: Column[] | undefined;
};

type Wire = {
  stream: { write(data: Buffer): void };
  atriumStatements?: Map<string, Prepared>;
  atriumCounter?: number;
  atriumUnsent?: Buffer[] | undefined;
};

const executeAll = serialize.execute();
const sync = serialize.sync();
const describePortal = serialize.describe({ type: 'P' });

// pg lets only its own query class on a pipelined connection; the flight replaces all of its behaviour.
// The prototype is enough: the constructor would build an event emitter and a result that are never used.
function Pipelined(): void {}
Pipelined.prototype = pg.Query.prototype;
const PipelinedQuery = Pipelined as unknown as new () => object;

/** All messages of one turn of the event loop are sent in one write, because a system call costs as much as a flight. */
function transmit(wire: Wire, chunks: readonly Buffer[]): void {
  if (wire.atriumUnsent !== undefined) {
    wire.atriumUnsent.push(...chunks);
    return;
  }
  wire.atriumUnsent = [...chunks];
  setImmediate(() => {
    const unsent = wire.atriumUnsent!;
    wire.atriumUnsent = undefined;
    wire.stream.write(Buffer.concat(unsent));
  });
}

/** The text of the statement that PostgreSQL refused, by its error. */
const refusedTexts = new WeakMap<Error, string>();

/** Undefined where the error is of no statement. */
export function refusedText(error: Error): string | undefined {
  return refusedTexts.get(error);
}

type Settle = (error: Error | null, results: unknown[][]) => void;

type Step = { query: Query<unknown>; prepared: Prepared | undefined; owns: boolean; columns: Column[] };

/**
 * All statements of one transaction as ONE message to PostgreSQL and one promise.
 *
 * Without an explicit BEGIN the statements up to Sync are one implicit transaction: all of them take
 * effect or none (PostgreSQL manual, "Extended Query", pipelining).
 */
class Flight extends PipelinedQuery {
  readonly #steps: Step[];
  readonly #results: unknown[][];
  readonly #settle: Settle;
  #index = 0;
  #wire: Wire | undefined;
  #error: Error | null = null;
  #settled = false;

  constructor(queries: readonly Query<unknown>[], settle: Settle) {
    super();
    this.#steps = queries.map((query) => ({ query, prepared: undefined, owns: false, columns: [] }));
    this.#results = queries.map(() => []);
    this.#settle = settle;
  }

  // pg calls this when the flight's turn on the wire has come.
  submit(connection: Wire): Error | null {
    this.#wire = connection;
    const statements = (connection.atriumStatements ??= new Map());
    const chunks: Buffer[] = [];
    for (const step of this.#steps) this.#writeStep(step, statements, chunks);
    chunks.push(sync);
    transmit(connection, chunks);
    return null;
  }

  #writeStep(step: Step, statements: Map<string, Prepared>, chunks: Buffer[]): void {
    const { query } = step;
    if (query.prepare) this.#claimPrepared(step, statements);
    const { prepared } = step;
    const name = prepared?.name ?? '';
    if (prepared === undefined || step.owns) chunks.push(serialize.parse({ text: query.text, name }));
    chunks.push(serialize.bind({ statement: name, values: query.values as unknown[], valueMapper: toWireValue }));
    if (prepared?.columns === undefined) chunks.push(describePortal);
    else step.columns = prepared.columns;
    chunks.push(executeAll);
  }

  #claimPrepared(step: Step, statements: Map<string, Prepared>): void {
    const known = statements.get(step.query.text);
    if (known !== undefined) {
      // While another flight is still preparing this text, the unnamed statement does.
      if (known.columns !== undefined) step.prepared = known;
      return;
    }
    // A counter, not a hash: after a failed flight it is unknown whether the name was taken.
    const number = (this.#wire!.atriumCounter = (this.#wire!.atriumCounter ?? 0) + 1);
    step.prepared = { name: `a${number}`, columns: undefined };
    step.owns = true;
    statements.set(step.query.text, step.prepared);
  }

  handleRowDescription(message: { fields: { name: string; dataTypeID: number }[] }): void {
    const step = this.#steps[this.#index]!;
    step.columns = message.fields.map((field) => ({ name: field.name, parse: textParser(field.dataTypeID) }));
  }

  handleDataRow(message: { fields: (string | null)[] }): void {
    const { columns } = this.#steps[this.#index]!;
    const row: Record<string, unknown> = {};
    for (let at = 0; at < columns.length; at++) {
      const column = columns[at]!;
      const text = message.fields[at];
      row[column.name] = text === null || text === undefined ? null : column.parse(text);
    }
    this.#results[this.#index]!.push(row);
  }

  handleCommandComplete(): void {
    const step = this.#steps[this.#index]!;
    if (step.prepared !== undefined) step.prepared.columns = step.columns;
    this.#index += 1;
  }

  // pg reports a server error here at once, and a broken connection too; only the first counts.
  handleError(error: Error): void {
    for (const step of this.#steps) {
      if (step.owns && step.prepared?.columns === undefined) this.#wire?.atriumStatements?.delete(step.query.text);
    }
    const refused = this.#steps[this.#index];
    if (error instanceof DatabaseError && refused !== undefined) refusedTexts.set(error, refused.query.text);
    this.#error ??= error;
    this.#finish();
  }

  handleReadyForQuery(): void {
    this.#finish();
  }

  #finish(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#settle(this.#error, this.#results);
  }
}

/** Ends an explicit transaction; fails unless the server says COMMIT, because after an error it rolls back silently. */
class Commit extends PipelinedQuery {
  readonly #settle: (error: Error | null) => void;
  #tag = '';
  #settled = false;

  constructor(settle: (error: Error | null) => void) {
    super();
    this.#settle = settle;
  }

  submit(connection: Wire): Error | null {
    transmit(connection, [serialize.query('COMMIT')]);
    return null;
  }

  handleCommandComplete(message: { text: string }): void {
    this.#tag = message.text;
  }

  handleError(error: Error): void {
    this.#finish(error);
  }

  handleReadyForQuery(): void {
    this.#finish(this.#tag === 'COMMIT' ? null : new Error(`the transaction ended with ${this.#tag}`));
  }

  #finish(error: Error | null): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#settle(error);
  }
}

/** Puts a flight on the wire; `settle` hears once whether all of it took effect. */
export function sendFlight(client: pg.Client, queries: readonly Query<unknown>[], settle: Settle): void {
  client.query(new Flight(queries, settle) as unknown as pg.Submittable);
}

export function sendCommit(client: pg.Client): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null) => (error === null ? resolve() : reject(error));
    client.query(new Commit(done) as unknown as pg.Submittable);
  });
}
