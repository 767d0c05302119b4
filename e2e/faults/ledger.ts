import { setTimeout as sleep } from 'node:timers/promises';

import { Client } from '../support/client.ts';
import type { Random } from './random.ts';

/** What is written, where it is listed, and what the audit trail says of it. */
const kinds = {
  contact: { path: '/api/v1/secure/contacts', body: (name: string) => ({ firstName: name }) },
  space: { path: '/api/v1/secure/spaces', body: (name: string) => ({ name }) },
  tag: { path: '/api/v1/secure/tags', body: (name: string) => ({ name }) },
  api_key: { path: '/api/v1/secure/api-keys', body: (name: string) => ({ name }) },
  file: { path: '/api/v1/secure/files', body: (name: string) => name.repeat(200) },
};

export type Kind = keyof typeof kinds;

const kindNames = Object.keys(kinds) as Kind[];
const writers = 6;
const pauseMs = 20;
/** Longer than the service may take for any answer. */
const answerTimeoutMs = 25_000;

type Book = { created: Set<string>; deleted: Set<string> };

/** Writes without a pause, and remembers what the service has confirmed; everything else that it answers is a violation. */
export class Ledger {
  readonly books: Record<Kind, Book>;
  readonly violations: string[] = [];
  /** Refusals with 503 and Retry-After, which a client is to repeat. */
  refused = 0;
  /** Requests whose connection broke: they may have taken effect or not. */
  cut = 0;
  /** Whether a process that answers has just been killed, so that connections break. */
  mayCut = false;
  client: Client;
  /** Aborted once the process is gone that the requests under way were sent to. */
  #leaving = new AbortController();
  #stopped = false;
  #number = 0;
  readonly #random: Random;
  readonly #untouched: string[] = [];
  #writing: Promise<void>[] = [];

  constructor(client: Client, random: Random) {
    this.client = client;
    this.#random = random;
    this.books = Object.fromEntries(kindNames.map((kind) => [kind, emptyBook()])) as Record<Kind, Book>;
  }

  get acknowledged(): number {
    return kindNames.reduce((sum, kind) => sum + this.books[kind].created.size + this.books[kind].deleted.size, 0);
  }

  write(): void {
    this.#writing = Array.from({ length: writers }, () => this.#keepWriting());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#writing);
  }

  /** Aborts requests to a process that has ended: another process may use its port and never answer. */
  leave(): void {
    this.#leaving.abort();
  }

  /** The same person at the address of another start. */
  moveTo(base: string): void {
    this.#leaving = new AbortController();
    const { accessToken, refreshToken, tenantId } = this.client;
    this.client = new Client(base);
    Object.assign(this.client, { accessToken, refreshToken, tenantId });
  }

  async #keepWriting(): Promise<void> {
    while (!this.#stopped) {
      if (this.#leaving.signal.aborted) {
        await sleep(pauseMs);
        continue;
      }
      const target = this.#untouched.length > 5 && this.#random.below(5) === 0 ? this.#untouched.shift() : undefined;
      const done = target === undefined ? await this.#create(this.#random.pick(kindNames)) : await this.#delete(target);
      if (!done) await sleep(pauseMs);
    }
  }

  async #create(kind: Kind): Promise<boolean> {
    const name = `${kind} ${this.#number++}`;
    const { path, body } = kinds[kind];
    const answer = await this.#send('POST', kind === 'file' ? `${path}?name=${kind}` : path, body(name));
    if (answer?.status !== 201) return this.#expectRefusal(answer, `creating a ${kind}`);
    const { id } = (answer.body as { data: { id: string } }).data;
    this.books[kind].created.add(id);
    if (kind === 'contact') this.#untouched.push(id);
    return true;
  }

  async #delete(id: string): Promise<boolean> {
    const answer = await this.#send('DELETE', `${kinds.contact.path}/${id}`);
    if (answer?.status !== 200) {
      // It may be gone or not: only the trail can tell, and nothing is promised.
      this.books.contact.created.delete(id);
      return this.#expectRefusal(answer, 'deleting a contact');
    }
    this.books.contact.deleted.add(id);
    return true;
  }

  #expectRefusal(answer: Sent | undefined, what: string): false {
    if (answer === undefined) this.cut++;
    else if (answer.status === 503 && answer.retryAfter !== null) this.refused++;
    else this.violations.push(`${what} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return false;
  }

  async #send(method: string, path: string, body?: unknown): Promise<Sent | undefined> {
    const isFile = typeof body === 'string';
    const { signal: leaving } = this.#leaving;
    try {
      const response = await fetch(`${this.client.base}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.client.accessToken}`,
          ...(body === undefined ? {} : { 'content-type': isFile ? 'text/plain' : 'application/json' }),
        },
        ...(body === undefined ? {} : { body: isFile ? body : JSON.stringify(body) }),
        signal: AbortSignal.any([AbortSignal.timeout(answerTimeoutMs), leaving]),
      });
      const text = await response.text();
      const parsed: unknown = text === '' ? undefined : JSON.parse(text);
      return { status: response.status, retryAfter: response.headers.get('retry-after'), body: parsed };
    } catch (error) {
      const { name, cause } = error as Error;
      if (!this.mayCut && !leaving.aborted) this.violations.push(`${method} ${path} was cut: ${name} ${String(cause)}`);
      return undefined;
    }
  }
}

type Sent = { status: number; retryAfter: string | null; body: unknown };

function emptyBook(): Book {
  return { created: new Set(), deleted: new Set() };
}

/** What of a ledger the service does not have, or has otherwise than its audit trail and its totals say. */
export async function compare({ books, client }: Ledger): Promise<string[]> {
  const problems: string[] = [];
  for (const kind of kindNames) {
    const { path } = kinds[kind];
    const { rows, total = rows.length } = await listOf(client, path);
    const stored = new Set(rows.map((row) => row.id as string));
    const created = await trailOf(client, `${kind}.created`);
    const deleted = await trailOf(client, `${kind}.deleted`);
    const report = (what: string, ids: string[]) => {
      if (ids.length > 0) problems.push(`${kind}: ${ids.length} ${what}: ${ids.slice(0, 3).join(', ')}`);
    };
    const { created: confirmed, deleted: removed } = books[kind];
    report(
      'confirmed, but lost',
      [...confirmed].filter((id) => !stored.has(id) && !removed.has(id)),
    );
    report(
      'deleted, but there',
      [...removed].filter((id) => stored.has(id)),
    );
    report(
      'confirmed without an audit row',
      [...confirmed].filter((id) => !created.includes(id)),
    );
    report(
      'deleted without an audit row',
      [...removed].filter((id) => !deleted.includes(id)),
    );
    report('with two audit rows', [...repeated(created), ...repeated(deleted)]);
    const known = new Set(created.filter((id) => !deleted.includes(id)));
    report('there without an audit row', [...stored.difference(known)]);
    report('in the audit trail, but not there', [...known.difference(stored)]);
    report('listed twice', repeated(rows.map((row) => row.id as string)));
    if (total !== rows.length) problems.push(`${kind}: total ${total} of ${rows.length}`);
  }
  return problems;
}

/** All rows, with the total where the list has pages. */
async function listOf(client: Client, path: string): Promise<{ rows: any[]; total?: number }> {
  const { status, body } = await client.get(path);
  if (status !== 200) throw new Error(`${path} answered ${status}`);
  if (body.pagination === undefined) return { rows: body.data };
  return { rows: await client.all(path), total: body.pagination.total };
}

async function trailOf(client: Client, action: string): Promise<string[]> {
  const rows = await client.all(`/api/v1/secure/audit-logs?action=${action}`);
  return rows.map((row) => row.resource_id as string);
}

function repeated(ids: readonly string[]): string[] {
  return ids.filter((id, at) => ids.indexOf(id) !== at);
}
