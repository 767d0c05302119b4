import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

export type Load = {
  port: number;
  /** Complete requests as bytes, sent in turn. */
  requests: readonly Buffer[];
  status: number;
  /** Another status that is expected as well, and counted apart. */
  refusal?: number;
  connections: number;
  durationMs: number;
  /** Requests per second at a fixed pace; without it every connection sends its next request at once. */
  pace?: number;
};

export type LoadResult = { answers: number; refusals: number; perSecond: number; p50Ms: number; p99Ms: number };

/** With the latency of each answer, to be pooled with those of other rounds. */
export type Measured = LoadResult & { latenciesMs: number[] };

/** Of all answers together: a p99 of one round rests on a handful of answers. */
export function percentiles(latenciesMs: readonly number[]): { p50Ms: number; p99Ms: number } {
  const sorted = Float64Array.from(latenciesMs).toSorted();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

type Connection = { socket: Socket; busy: boolean; sentAt: number; buffered: Buffer | undefined };

const headEnd = Buffer.from('\r\n\r\n');
const lengthName = /\r\ncontent-length: *(\d+)/i;

/** Bytes of one keep-alive request. */
export function requestBytes(
  method: string,
  path: string,
  options: { token?: string; apiKey?: string; body?: unknown; headers?: Readonly<Record<string, string>> } = {},
): Buffer {
  const body = options.body === undefined ? '' : JSON.stringify(options.body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    ...(options.token === undefined ? [] : [`Authorization: Bearer ${options.token}`]),
    ...(options.apiKey === undefined ? [] : [`X-API-Key: ${options.apiKey}`]),
    ...Object.entries(options.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

/**
 * Keep-alive load over plain sockets, one request at a time on each: an HTTP client library would cost as much
 * as the servers it measures.
 * @throws Error at the first answer with another status, or when a connection breaks.
 */
export async function runLoad(load: Load): Promise<Measured> {
  const connections = await Promise.all(Array.from({ length: load.connections }, () => open(load.port)));
  try {
    return await new LoadRun(load, connections).run();
  } finally {
    for (const { socket } of connections) socket.destroy();
  }
}

class LoadRun {
  readonly #load: Load;
  readonly #connections: readonly Connection[];
  readonly #latencies: number[] = [];
  readonly #waiting: number[] = [];
  readonly #expected: Buffer;
  readonly #refusal: Buffer | undefined;
  #refusals = 0;
  #next = Math.floor(Math.random() * 1e6);
  #stopped = false;
  #fail: (error: Error) => void = () => undefined;

  constructor(load: Load, connections: readonly Connection[]) {
    this.#load = load;
    this.#connections = connections;
    this.#expected = Buffer.from(`HTTP/1.1 ${load.status} `);
    this.#refusal = load.refusal === undefined ? undefined : Buffer.from(`HTTP/1.1 ${load.refusal} `);
  }

  async run(): Promise<Measured> {
    const { durationMs, pace } = this.#load;
    const failed = new Promise<never>((_resolve, reject) => (this.#fail = reject));
    for (const connection of this.#connections) this.#listen(connection);
    const start = performance.now();
    if (pace === undefined) for (const connection of this.#connections) this.#send(connection, start);
    else this.#keepPace(start, pace);
    await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, durationMs))]);
    this.#stopped = true;
    const seconds = (performance.now() - start) / 1000;
    const latenciesMs = this.#latencies;
    return {
      answers: latenciesMs.length,
      refusals: this.#refusals,
      perSecond: latenciesMs.length / seconds,
      ...percentiles(latenciesMs),
      latenciesMs,
    };
  }

  #listen(connection: Connection): void {
    const { socket } = connection;
    socket.on('data', (chunk: Buffer) => {
      if (this.#stopped) return;
      const bytes = connection.buffered === undefined ? chunk : Buffer.concat([connection.buffered, chunk]);
      const total = answerLength(bytes);
      if (total === undefined || bytes.length < total) {
        connection.buffered = bytes;
        return;
      }
      connection.buffered = undefined;
      if (this.#refusal !== undefined && startsWith(bytes, this.#refusal)) {
        this.#refusals += 1;
        return this.#goOn(connection, performance.now());
      }
      if (!startsWith(bytes, this.#expected)) {
        return this.#fail(new Error(`expected ${this.#load.status}, got: ${bytes.toString('utf8').slice(0, 600)}`));
      }
      this.#answered(connection);
    });
    socket.on('close', () => {
      if (!this.#stopped) this.#fail(new Error('the server closed a connection under load'));
    });
  }

  #answered(connection: Connection): void {
    const now = performance.now();
    this.#latencies.push(now - connection.sentAt);
    this.#goOn(connection, now);
  }

  #goOn(connection: Connection, now: number): void {
    if (this.#load.pace === undefined) return this.#send(connection, now);
    const due = this.#waiting.shift();
    if (due === undefined) connection.busy = false;
    else this.#send(connection, due);
  }

  #send(connection: Connection, at: number): void {
    const { requests } = this.#load;
    connection.busy = true;
    connection.sentAt = at;
    connection.socket.write(requests[this.#next++ % requests.length]!);
  }

  // A request that is due while every connection is busy counts from its due time; otherwise a stall would hide itself.
  #keepPace(start: number, pace: number): void {
    let sent = 0;
    const tick = () => {
      if (this.#stopped) return;
      const now = performance.now();
      for (; sent < ((now - start) / 1000) * pace; sent++) {
        const free = this.#connections.find((connection) => !connection.busy);
        if (free === undefined) this.#waiting.push(now);
        else this.#send(free, now);
      }
      setTimeout(tick, 1);
    };
    tick();
  }
}

function startsWith(bytes: Buffer, beginning: Buffer): boolean {
  return bytes.subarray(0, beginning.length).equals(beginning);
}

function answerLength(bytes: Buffer): number | undefined {
  const end = bytes.indexOf(headEnd);
  if (end === -1) return undefined;
  const length = lengthName.exec(bytes.toString('latin1', 0, end))?.[1];
  return end + headEnd.length + Number(length ?? 0);
}

function open(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => {
      socket.off('error', reject);
      // A broken connection shows as 'close', which is where it is reported.
      socket.on('error', () => undefined);
      resolve({ socket, busy: false, sentAt: 0, buffered: undefined });
    });
    socket.once('error', reject);
  });
}
