import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { PassThrough } from 'node:stream';
import type pg from 'pg';
import { afterAll, beforeAll, expect, inject } from 'vitest';

import { readConfig } from '#app/config';
import { createService, type Service, type ServiceOptions } from '#app/service';
import type { DatabaseTiming } from '#core/data/db/timing';
import { createLogging } from '#core/data/log/log';
import type { Route } from '#core/http/route';
import { createCheck } from '#core/http/validation';
import { createDatabase } from '#test/support/database';

type Body = Record<string, unknown>;

/** An answer with its body read as JSON; `body` is undefined without one. */
export type Answer = { status: number; headers: Record<string, string | undefined>; body: any; text: string };

export type Call = {
  token?: string | undefined;
  body?: unknown;
  headers?: Record<string, string>;
  ip?: string;
};

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type TestService = {
  /** Set before the first test runs. */
  readonly service: Service;
  /** The database behind it, as its owner. */
  readonly connection: pg.ClientConfig;
  /** The log lines written so far. */
  readonly logLines: string[];
  call(method: Method, url: string, call?: Call): Promise<Answer>;
  raw(options: InjectOptions): Promise<LightMyRequestResponse>;
};

type Options = Partial<Pick<ServiceOptions, 'now' | 'encryptionKeys' | 'databaseTiming'>> & {
  environment?: Record<string, string>;
  /** For suites that count the rows of all tables: no other suite writes there. */
  ownDatabase?: boolean;
  /** A database that the suite disturbs; the service then uses the default timeouts. */
  connection?: pg.ClientConfig;
};

/** Timeouts for 200 waiting requests on a busy machine, so that the result of a race test does not depend on speed. */
export const patientTiming: Partial<DatabaseTiming> = {
  statementMs: 60_000,
  stalledMs: 61_000,
  primaryStalledMs: 61_000,
  connectMs: 60_000,
  waitMs: 60_000,
  suspectMs: 60_000,
  probeMs: 60_000,
  silenceMs: 60_000,
  lockMs: 60_000,
};

/**
 * A service on the shared database for the tests of one file, in process. Every success answer is checked against the closed
 * schema of its route, so that an undocumented property fails the test.
 */
export function useService(options: Options = {}): TestService {
  let service: Service | undefined;
  let connection: pg.ClientConfig | undefined;
  let own: Awaited<ReturnType<typeof createDatabase>> | undefined;
  const logLines: string[] = [];

  beforeAll(async () => {
    own = options.ownDatabase === true ? await createDatabase() : undefined;
    connection = own?.connection ?? options.connection ?? inject('connection');
    const databaseTiming = options.databaseTiming ?? (options.connection === undefined ? patientTiming : undefined);
    service = await startService({ ...options, connection, databaseTiming }, logLines);
  });
  afterAll(async () => {
    await service?.close();
    await own?.drop();
    // The files that come next in the same process shall not pay for what this one has left.
    service = undefined;
    logLines.length = 0;
  });

  return {
    get service() {
      return service!;
    },
    get connection() {
      return connection!;
    },
    logLines,
    raw: (request) => service!.http.inject(request),
    call: (method, url, call) => callService(service!, method, url, call),
  };
}

/** The time, but never the same twice: what happens later is later, on the fastest machine too. */
export function strictlyLater(): () => Date {
  let last = 0;
  return () => {
    last = Math.max(last + 1, Date.now());
    return new Date(last);
  };
}

/** The same on a service that a test starts and closes itself. */
export function testServiceOf(service: Service, connection: pg.ClientConfig): TestService {
  return {
    service,
    connection,
    logLines: [],
    raw: (request) => service.http.inject(request),
    call: (method, url, call) => callService(service, method, url, call),
  };
}

async function callService(service: Service, method: Method, url: string, call: Call = {}): Promise<Answer> {
  const response = await service.http.inject({
    method,
    url,
    remoteAddress: call.ip ?? '127.0.0.1',
    headers: {
      ...(call.token === undefined ? {} : { authorization: `Bearer ${call.token}` }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    },
    ...(call.body === undefined
      ? {}
      : { payload: typeof call.body === 'string' ? call.body : JSON.stringify(call.body) }),
  });
  return toAnswer(response);
}

export async function startService(options: Options = {}, logLines: string[] = []): Promise<Service> {
  const destination = new PassThrough();
  destination.on('data', (chunk: Buffer) =>
    logLines.push(
      ...chunk
        .toString()
        .split('\n')
        .filter((line) => line !== ''),
    ),
  );
  const config = readConfig({
    DATA_DIR: inject('dataDir'),
    SYSTEM_ADMIN_EMAIL: systemAdmin.email,
    SYSTEM_ADMIN_PASSWORD: systemAdmin.password,
    ...options.environment,
  });
  return createService({
    config: options.environment?.['PASSWORD_MEMORY_KIB'] === undefined ? { ...config, ...cheapHashes } : config,
    connection: options.connection ?? inject('connection'),
    // All suites share one database, so they share the key that its secrets are sealed with.
    encryptionKeys: options.encryptionKeys ?? [sharedKey],
    logging: createLogging({ level: 'debug', destination }),
    inspectAnswer: assertFitsSchema,
    databaseTiming: options.databaseTiming,
    ...(options.now === undefined ? {} : { now: options.now }),
  });
}

/** Less than may be configured: people who log in would be most of what many suites cost. */
const cheapHashes = { PASSWORD_MEMORY_KIB: 256 };

export const systemAdmin = { email: 'root@system.test', password: 'system password' };
const sharedKey = Buffer.from('00112233445566778899aabbccddeeff102132435465768798a9babbdcddeeff', 'hex');

function assertFitsSchema({ operationId, schema }: Route, status: number, payload: string): void {
  const declared = schema.response[status as 200];
  if (payload === '' && declared === null) return;
  if (declared === null || declared === undefined)
    throw new Error(`${operationId} answered ${status} with a body it does not declare`);
  const misfit = createCheck(declared)(JSON.parse(payload));
  if (misfit !== undefined) throw new Error(`${operationId}: body${misfit.path} ${misfit.message}`);
}

export function toAnswer(response: LightMyRequestResponse): Answer {
  const isJson = response.headers['content-type']?.toString().startsWith('application/json') ?? false;
  return {
    status: response.statusCode,
    headers: response.headers as Record<string, string>,
    body: isJson && response.payload !== '' ? (JSON.parse(response.payload) as Body) : undefined,
    text: response.payload,
  };
}

/** Every failure carries exactly the standard error body. */
export function expectError(answer: Answer, status: number, code: string, reason?: string): void {
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: {
      error: code,
      message: expect.any(String),
      statusCode: status,
      requestId: expect.any(String),
      details:
        reason === undefined
          ? expect.toSatisfy((value) => value === null || typeof value === 'object')
          : expect.objectContaining({ code: reason }),
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    },
  });
}
