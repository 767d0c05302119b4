import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Route } from '#core/http/route';
import { badBodies, badValues, type BadBody, type JsonSchema } from '#test/support/bad-input';
import { listTables, useOwner } from '#test/support/database';
import { createEverything, urlOfRecords } from '#test/support/everything';
import { useService, type Answer } from '#test/support/harness';
import { routeOf, routes, urlOf } from '#test/support/registry';
import { refusalOf } from '#test/support/rpc';
import { missingSamples, validBodies, type Ids, type OwnRecords } from '#test/support/samples';

const test = useService({ ownDatabase: true });
const withBody = routes.filter((route) => route.schema.body !== undefined);
let own: OwnRecords;
let ids: Ids;
let systemAdmin: string;
const owner = useOwner(() => test.connection);
let tables: string[] | undefined;

beforeAll(async () => {
  ({ own, ids, systemAdmin } = await createEverything(test));
});

type Send = (request: { url: string; headers: Record<string, string>; payload?: string | Buffer }) => Promise<Answer>;

/** Sends requests to the route with sufficient access. */
function sender(route: Route): Send {
  const isSystem = route.access.kind === 'systemAdmin' || route.access.kind === 'dispatcher';
  const token = isSystem ? systemAdmin : own.tenant.admin.token;
  return async (request) => {
    const headers =
      route.access.kind === 'public' ? request.headers : { authorization: `Bearer ${token}`, ...request.headers };
    const response = await test.raw({ method: route.method, ...request, headers });
    const isJson = String(response.headers['content-type']).startsWith('application/json');
    const body: unknown = isJson && response.payload !== '' ? response.json() : undefined;
    return { status: response.statusCode, headers: {}, body: refusalOf(route, body), text: response.payload };
  };
}

/** What is wrong with the answer to a request that has to be refused. */
function judge(answer: Answer, statuses: readonly number[], isBrief = false): string | undefined {
  if (!statuses.includes(answer.status)) return `answered ${answer.status} ${answer.text.slice(0, 200)}`;
  if (!(isBrief ? isBriefBody(answer.body) : isStandardBody(answer)))
    return `answered ${answer.status} without the standard body: ${answer.text.slice(0, 200)}`;
  return /select |insert |postgres|node_modules|\.ts:\d|at Object\./i.test(answer.text)
    ? `tells too much: ${answer.text}`
    : undefined;
}

function isStandardBody({ status, body }: Answer): boolean {
  const { statusCode, requestId, details, timestamp, ...rest } = body ?? {};
  return (
    isBriefBody(rest) &&
    statusCode === status &&
    /^[0-9a-f-]{36}$/.test(requestId) &&
    typeof details === 'object' &&
    /^\d{4}-.*Z$/.test(timestamp)
  );
}

function isBriefBody(body: Answer['body']): boolean {
  const { error, message, ...rest } = body ?? {};
  return /^[A-Z_]+$/.test(error) && typeof message === 'string' && Object.keys(rest).length === 0;
}

async function problems(send: Send, url: string, bodies: readonly BadBody[]): Promise<string[]> {
  const found: string[] = [];
  for (const { what, payload, contentType = 'application/json', statuses } of bodies) {
    const headers: Record<string, string> = contentType === 'none' ? {} : { 'content-type': contentType };
    const problem = judge(await send({ url, headers, payload }), statuses);
    if (problem !== undefined) found.push(`${what}: ${problem}`);
  }
  return found;
}

const writtenLater = new Set([
  'security_events',
  'application_logs',
  'log_hours',
  'request_minutes',
  'tenant_request_hours',
  'error_hours',
]);

/** How many rows every table has, and how many bytes of text they hold. */
async function rowCounts(): Promise<Record<string, string>> {
  tables ??= await listTables(owner());
  // Some are written a moment after the request that they tell of.
  const parts = tables
    .filter((table) => !writtenLater.has(table))
    .map(
      (table) =>
        `select '${table}' as name, md5(coalesce(string_agg(t::text, '|' order by t::text), '')) || ' ' || count(*) as rows
       from ${table} t`,
    );
  const { rows } = await owner().query<{ name: string; rows: string }>(parts.join(' union all '));
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]));
}

it('has a valid body for every operation with a body', () => {
  expect(
    missingSamples(
      'bodies',
      Object.keys(validBodies),
      withBody.map((route) => route.operationId),
    ),
  ).toEqual([]);
});

/** Properties that exclude those of the valid body. */
const alternatives: readonly string[] = ['explainAccess body.method', 'explainAccess body.path'];

it('has a valid body with every property, so that each of them is tested with bad values', () => {
  const lacking = withBody.flatMap(({ operationId, schema }) => {
    const body = validBodies[operationId]?.(own) ?? {};
    const names = Object.keys((schema.body as JsonSchema).properties ?? {});
    return names.filter((name) => !(name in body)).map((name) => `${operationId} body.${name}`);
  });
  expect(lacking, "add them to 'bodies' of testing/samples.ts of the module").toEqual(alternatives);
});

describe('a bad body is refused with the standard body, and nothing is stored', () => {
  it.each(withBody.map((route) => route.operationId))('%s', async (operationId) => {
    const route = routeOf(operationId);
    const schema = JSON.parse(JSON.stringify(route.schema.body)) as JsonSchema;
    const bodies = badBodies(schema, validBodies[operationId]!(own)).filter(
      ({ payload }) => !isOptionalBody(schema, payload),
    );
    expect(bodies.length).toBeGreaterThan(Object.keys(validBodies[operationId]!(own)).length === 0 ? 30 : 60);
    const before = await rowCounts();
    expect(await problems(sender(route), urlOfRecords(route, ids), bodies)).toEqual([]);
    expect(await rowCounts()).toEqual(before);
  });
});

// An empty object is a bad body only where something is required, and none at all only where there has to be one.
function isOptionalBody(schema: JsonSchema, payload: string | Buffer): boolean {
  const needsNone = schema.anyOf?.some((option) => option.type === 'null') ?? false;
  if (payload === '{}') return (schema.required ?? []).length === 0;
  return needsNone && (payload === 'null' || payload === '');
}

describe('a bad URL is refused with the standard body', () => {
  const inPath = [
    '..%2f..%2fetc%2fpasswd',
    '..%5c..%5cetc',
    '%00',
    'a%00b',
    '%ff',
    '%c0%ae',
    '42',
    'null',
    '%7B%7D',
    "'%20or%201=1",
    '%F0%9F%98%80',
    ...badValues.uuid!.filter((value) => value !== '').map(encodeURIComponent),
  ];

  it.each(routes.filter((route) => route.schema.params !== undefined).map((route) => route.operationId))(
    '%s: the path',
    async (operationId) => {
      const route = routeOf(operationId);
      const body = validBodies[operationId]?.(own);
      const request =
        body === undefined
          ? { headers: {} }
          : { headers: { 'content-type': 'application/json' }, payload: JSON.stringify(body) };
      for (const text of inPath) {
        const answer = await sender(route)({ url: urlOf(route, text), ...request });
        expect({ text, problem: judge(answer, [400, 404], route.hasBriefErrors) }).toEqual({
          text,
          problem: undefined,
        });
      }
    },
  );

  it.each(routes.filter((route) => route.schema.query !== undefined).map((route) => route.operationId))(
    '%s: the query',
    async (operationId) => {
      const route = routeOf(operationId);
      const properties = (JSON.parse(JSON.stringify(route.schema.query)) as JsonSchema).properties!;
      for (const [name, property] of Object.entries(properties)) {
        const broken = [`${name}=%00`, `${name}=%ff`, `${name}=%ed%a0%80`, `${name}=%`];
        const twice = [`${name}=1&${name}=1`, `${name}=&${name}=`];
        const byFormat = (badValues[property.format ?? ''] ?? []).map(
          (value) => `${name}=${encodeURIComponent(value)}`,
        );
        const tooLong = property.maxLength === undefined ? [] : [`${name}=${'x'.repeat(property.maxLength + 1)}`];
        const numbers =
          property.type === 'integer'
            ? ['-1', '1.5', '1e400', '1152921504606846976', 'NaN', '', 'x', '0;select'].map(
                (value) => `${name}=${encodeURIComponent(value)}`,
              )
            : [];
        const values = property.enum === undefined ? [] : [`${name}=noSuchValue`, `${name}=`];
        for (const query of [...broken, ...twice, ...byFormat, ...tooLong, ...numbers, ...values]) {
          const answer = await sender(route)({ url: `${urlOfRecords(route, ids)}?${query}`, headers: {} });
          expect({ query, problem: judge(answer, [400]) }).toEqual({ query, problem: undefined });
        }
      }
    },
  );

  it('ignores unknown parameters, including names of Object.prototype', async () => {
    const route = routeOf('listContacts');
    for (const query of [
      'noSuchParameter=1',
      '__proto__=1',
      'constructor[prototype]=1',
      'toString=1',
      '__proto__[limit]=1',
      '=',
      '&&&',
      'a=b=c',
    ])
      expect({ query, status: (await sender(route)({ url: `${route.path}?${query}`, headers: {} })).status }).toEqual({
        query,
        status: 200,
      });
    expect(({} as Record<string, unknown>).limit).toBeUndefined();
  });
});

describe('unusual but valid input', () => {
  it.each(Object.keys(validBodies))('%s takes its own valid body', async (operationId) => {
    const route = routeOf(operationId);
    const payload = JSON.stringify(validBodies[operationId]!(own));
    const answer = await sender(route)({
      url: urlOfRecords(route, ids),
      headers: { 'content-type': 'application/json' },
      payload,
    });
    // Operations that need an outside provider are refused without one.
    if (answer.status === 503 && answer.body.details?.code === 'NO_PROVIDER') return;
    expect([200, 201, 202, 204, 401, 422]).toContain(answer.status);
  });

  it('minus zero becomes zero, and texts are returned unchanged', async () => {
    const { token } = own.tenant.admin;
    const name = "Ra\u0308um \u{1F600} \u202Eכן <b>&amp; '; drop table spaces; --";
    const body = `{"name":${JSON.stringify(name)},"capacity":-0,"properties":{"n":-0,"big":1152921504606846976,"k\\"ey":[null,{"":""}]}}`;
    const created = await test.call('POST', '/api/v1/secure/spaces', {
      token,
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect(created.status).toBe(201);
    expect(created.body.data).toMatchObject({
      name,
      capacity: 0,
      properties: { n: 0, big: 2 ** 60, 'k"ey': [null, { '': '' }] },
    });
  });
});

describe('the gate itself', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { name: { type: 'string', maxLength: 5 } },
    required: ['name'],
    additionalProperties: false,
  };
  const bodies = badBodies(schema, { name: 'a' });
  const answering =
    (status: number, body: unknown): Send =>
    () =>
      Promise.resolve({ status, headers: {}, body, text: JSON.stringify(body) });

  it('finds a route that accepts everything, one that fails, and one with a different error body', async () => {
    expect(await problems(answering(200, {}), '/', bodies)).toHaveLength(bodies.length);
    expect(await problems(answering(500, {}), '/', bodies)).toHaveLength(bodies.length);
    expect(
      await problems(answering(400, { error: 'Bad Request', message: '', statusCode: 400 }), '/', bodies),
    ).toHaveLength(bodies.length);
  });

  it('finds an answer that contains a database error', () => {
    const body = {
      error: 'VALIDATION_ERROR',
      message: 'insert into users',
      statusCode: 400,
      requestId: newId(),
      details: null,
      timestamp: new Date().toISOString(),
    };
    expect(judge({ status: 400, headers: {}, body, text: JSON.stringify(body) }, [400])).toContain('tells too much');
  });
});
