import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { alertsOf } from '#core/platform/jobs/testing/jobs';
import { createMember, createTenant, logInSystemAdmin, type Person } from '#test/support/factories';
import { expectError, startService, testServiceOf, useService, type Answer } from '#test/support/harness';

const secret = 'of the tests, and longer than 32 bytes';
const test = useService({ ownDatabase: true, environment: { DISPATCHER_SECRET: secret } });
let time = Date.parse('2031-01-01T00:00:00Z');
const environment = { DISPATCHER_SECRET: secret };
const later = useService({ ownDatabase: true, environment, now: () => new Date(time) });
const base = '/api/v1/system/dispatcher';
const known = { 'x-dispatcher-secret': secret };
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
let system: Person;

beforeAll(async () => {
  system = await logInSystemAdmin(test);
});

const run = (headers: Record<string, string> = known, ip = '127.0.0.1') =>
  test.call('POST', `${base}/run`, { headers, ip });
const status = (headers: Record<string, string> = known) => test.call('GET', `${base}/status`, { headers });
const acknowledge = (id: string, headers: Record<string, string> = known) =>
  test.call('POST', `${base}/alerts/${id}/acknowledge`, { headers });

/** Expects only `{error, message}`. */
function expectBrief(answer: Answer, code: number, error: string): void {
  expect({ status: answer.status, body: answer.body }).toEqual({
    status: code,
    body: { error, message: expect.any(String) },
  });
}

async function newAlert(): Promise<string> {
  const [id, now] = [newId(), new Date()];
  await test.service.services.database.platform().interactive.all({
    kind: 'write',
    text: `insert into dispatcher_alerts (id, type, subject, severity, title, message, created_at, last_seen_at)
           values ($1, 'job_failed', $2, 'warning', 'title', 'message', $3, $3)`,
    values: [id, `subject of ${id}`, now],
    prepare: false,
  });
  return id;
}

/** The three headers that take the secret. */
const secretHeaders: Record<string, (text: string) => Record<string, string>> = {
  'x-dispatcher-secret': (text) => ({ 'x-dispatcher-secret': text }),
  'x-cron-secret': (text) => ({ 'x-cron-secret': text }),
  authorization: (text) => ({ authorization: `Bearer ${text}` }),
};

describe.each([
  ['runDispatcher', run],
  ['getDispatcherStatus', status],
  ['acknowledgeDispatcherAlert', async (headers?: Record<string, string>) => acknowledge(await newAlert(), headers)],
] as const)('%s', (_operation, call) => {
  it.each(Object.keys(secretHeaders))('200 with the secret in %s', async (header) => {
    expect((await call(secretHeaders[header]!(secret))).status).toBe(200);
  });

  it.each(Object.keys(secretHeaders))('401 with a wrong secret in %s', async (header) => {
    for (const wrong of ['x', secret.slice(1), `${secret}x`, secret.toUpperCase()])
      expectBrief(await call(secretHeaders[header]!(wrong)), 401, 'AUTHENTICATION_ERROR');
  });

  it('401 without a secret, and with an empty one', async () => {
    expectBrief(await call({}), 401, 'AUTHENTICATION_ERROR');
    expectBrief(await call({ authorization: 'Bearer' }), 401, 'AUTHENTICATION_ERROR');
    expectBrief(await call({ authorization: `Basic ${secret}` }), 401, 'AUTHENTICATION_ERROR');
    expectBrief(await call({ 'x-dispatcher-secret': '' }), 401, 'AUTHENTICATION_ERROR');
  });

  it('401: the preferred header counts when there are several', async () => {
    const both = { 'x-dispatcher-secret': 'wrong', 'x-cron-secret': secret };
    expectBrief(await call(both), 401, 'AUTHENTICATION_ERROR');
    expect((await call({ 'x-dispatcher-secret': secret, 'x-cron-secret': 'wrong' })).status).toBe(200);
  });

  it('401 for a tenant administrator', async () => {
    const tenant = await createTenant(test);
    const headers = { authorization: `Bearer ${tenant.admin.token}` };
    expectBrief(await call(headers), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('runDispatcher', () => {
  it('200: the fields of the specification', async () => {
    const { body } = await run();
    expect(body).toEqual({
      success: true,
      data: {
        run_id: uuid,
        started_at: timestamp,
        completed_at: timestamp,
        duration_ms: expect.any(Number),
        jobs_executed: expect.any(Number),
        jobs_failed: 0,
        jobs_skipped: expect.any(Number),
        health_status: {
          overall: expect.toSatisfy((value) => value === 'healthy' || value === 'degraded'),
          services: expect.arrayContaining([
            { service_name: 'database', status: 'healthy', message: expect.any(String) },
          ]),
        },
        alerts_sent: expect.any(Number),
      },
    });
  });

  it('401 for a system administrator: a session does not replace the secret', async () => {
    expectBrief(await run({ authorization: `Bearer ${system.token}` }), 401, 'AUTHENTICATION_ERROR');
  });

  it('404, 405 and 400 in the same brief form', async () => {
    expectBrief(await test.call('GET', `${base}/run`), 405, 'METHOD_NOT_ALLOWED');
    expectBrief(await test.call('DELETE', `${base}/status`), 405, 'METHOD_NOT_ALLOWED');
    const torn = { ...known, 'content-type': 'application/json' };
    const answer = await test.raw({ method: 'POST', url: `${base}/run`, headers: torn, payload: '{"a":' });
    expect([answer.statusCode, Object.keys(answer.json())]).toEqual([400, ['error', 'message']]);
  });

  it.each([
    ['an id that cannot be decoded', '/alerts/%zz/acknowledge', 400, 'BAD_REQUEST'],
    ['an id that is cut off', '/alerts/%/acknowledge', 400, 'BAD_REQUEST'],
    ['an id that is too long', `/alerts/${'x'.repeat(300)}/acknowledge`, 414, 'URI_TOO_LONG'],
    ['a query that cannot be decoded', '/run?a=%zz', 400, 'BAD_REQUEST'],
  ])('answers %s in the same short form', async (_what, path, expected, code) => {
    const answer = await test.call('POST', `${base}${path}`, { headers: known });
    expectBrief(answer, expected, code);
  });

  it('answers a path outside of the dispatcher in the standard form', async () => {
    expectError(await test.call('POST', `${base}/jobs/%zz/run`, { headers: known }), 400, 'BAD_REQUEST');
    expectError(await test.call('GET', '/api/v1/system/%zz'), 400, 'BAD_REQUEST');
  });

  it('twenty wrong secrets in a minute from one address raise an alert, missing secrets do not', async () => {
    const ip = '198.51.100.77';
    for (let count = 0; count < 20; count++) await run({}, ip);
    expect(await alertsOf(test.service.services.database, ip)).toEqual([]);
    for (let count = 0; count < 20; count++) await run({ 'x-cron-secret': 'wrong' }, ip);
    const [alert, ...others] = await alertsOf(test.service.services.database, ip);
    expect(others).toEqual([]);
    const { recent_alerts: shown } = (await status()).body;
    expect(shown.find((one: { id: string }) => one.id === alert!.id)).toEqual({
      id: alert!.id,
      type: 'unauthorized_calls',
      severity: 'warning',
      title: expect.any(String),
      message: expect.stringContaining(ip),
      acknowledged: false,
      created_at: timestamp,
    });
  });
});

describe('getDispatcherHealth', () => {
  it('200 for every caller: the fields of the specification', async () => {
    const { status: code, body } = await test.call('GET', `${base}/health`);
    expect(code).toBe(200);
    expect(body).toEqual({ overall: expect.any(String), timestamp, services: expect.any(Array) });
    expect(body.services).toContainEqual({
      service_name: 'database',
      status: 'healthy',
      message: expect.any(String),
      timestamp,
    });
  });
});

describe('getDispatcherStatus', () => {
  it('200: the latest and earlier dispatches, newest first', async () => {
    const ids = [(await run()).body.data.run_id, (await run()).body.data.run_id];
    const { body } = await status();
    expect(body).toEqual({
      enabled: true,
      mode: 'serverless',
      last_run: {
        run_id: ids[1],
        started_at: timestamp,
        completed_at: timestamp,
        duration_ms: expect.any(Number),
        jobs_executed: expect.any(Number),
        jobs_failed: 0,
        health_status: { overall: expect.any(String), services: expect.any(Array) },
      },
      recent_runs: expect.any(Array),
      recent_alerts: expect.any(Array),
    });
    expect(body.recent_runs.slice(0, 2).map((one: { run_id: string }) => one.run_id)).toEqual(ids.toReversed());
    expect(Object.keys(body.recent_runs[0]).toSorted()).toEqual(
      ['run_id', 'started_at', 'duration_ms', 'jobs_executed', 'jobs_failed'].toSorted(),
    );
  });

  it('200: hosted-scheduler before the first external call, and again two minutes after the last one', async () => {
    const mode = async () => (await later.call('GET', `${base}/status`, { headers: known })).body.mode;
    expect(await mode()).toBe('hosted-scheduler');
    await later.call('POST', `${base}/run`, { headers: known });
    expect(await mode()).toBe('serverless');
    time += 120_000;
    expect(await mode()).toBe('serverless');
    time += 1;
    expect(await mode()).toBe('hosted-scheduler');
  });

  it('200: not enabled after every job is disabled', async () => {
    const { dispatcher, database } = later.service.services;
    await dispatcher.register();
    const enabled = async () => (await later.call('GET', `${base}/status`, { headers: known })).body.enabled;
    const set = (text: string) =>
      database.platform().interactive.all({ kind: 'write', text, values: [], prepare: false });
    await set(`update jobs set enabled = false where name <> 'storage-sweep'`);
    expect(await enabled()).toBe(true);
    await set('update jobs set enabled = false');
    expect(await enabled()).toBe(false);
  });
});

describe('acknowledgeDispatcherAlert', () => {
  const row = async (id: string) => {
    const text = 'select acknowledged, acknowledged_by, acknowledged_at from dispatcher_alerts where id = $1';
    return test.service.services.database
      .platform()
      .interactive.first({ kind: 'write', text, values: [id], prepare: false });
  };

  it('200 with the secret and for a system administrator, who is recorded', async () => {
    const [one, other] = [await newAlert(), await newAlert()];
    const answer = await acknowledge(one);
    expect(answer.body).toEqual({ success: true, message: expect.any(String) });
    expect(await row(one)).toEqual({ acknowledged: true, acknowledged_by: null, acknowledged_at: timestamp });
    expect((await acknowledge(other, { authorization: `Bearer ${system.token}` })).status).toBe(200);
    expect(await row(other)).toMatchObject({ acknowledged: true, acknowledged_by: system.userId });
  });

  it('200 the second time too: the first acknowledgement wins', async () => {
    const id = await newAlert();
    expect((await acknowledge(id, { authorization: `Bearer ${system.token}` })).body).toMatchObject({ success: true });
    const first = await row(id);
    expect((await acknowledge(id)).status).toBe(200);
    expect(await row(id)).toEqual(first);
  });

  it('404 for an unknown alert, 400 for an invalid id', async () => {
    expectBrief(await acknowledge(newId()), 404, 'NOT_FOUND');
    expectBrief(await acknowledge('42'), 400, 'VALIDATION_ERROR');
  });

  it('401 for a member, an expired session and an API key', async () => {
    const tenant = await createTenant(test);
    const member = await createMember(test, tenant);
    const body = { name: 'Door', permissions: {} };
    const key = await test.call('POST', '/api/v1/secure/api-keys', { token: tenant.admin.token, body });
    const id = await newAlert();
    for (const headers of [
      { authorization: `Bearer ${member.token}` },
      { authorization: 'Bearer a.b.c' },
      { 'x-api-key': key.body.fullKey as string },
    ])
      expectBrief(await acknowledge(id, headers), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('without a secret', () => {
  it('503 for operations that need it, 200 for health and for an acknowledgement by a system administrator', async () => {
    const service = await startService({ connection: test.connection });
    try {
      const bare = testServiceOf(service, test.connection);
      const id = await newAlert();
      const path = `${base}/alerts/${id}/acknowledge`;
      for (const headers of [{}, known]) {
        expectBrief(await bare.call('POST', `${base}/run`, { headers }), 503, 'SERVICE_UNAVAILABLE');
        expectBrief(await bare.call('GET', `${base}/status`, { headers }), 503, 'SERVICE_UNAVAILABLE');
        expectBrief(await bare.call('POST', path, { headers }), 503, 'SERVICE_UNAVAILABLE');
      }
      expect((await bare.call('GET', `${base}/health`)).status).toBe(200);
      expect((await bare.call('POST', path, { token: system.token })).status).toBe(200);
    } finally {
      await service.close();
    }
  });
});

describe('a short secret', () => {
  it('causes a warning at the start, a secret of 32 bytes does not', async () => {
    const warnings = async (text: string) => {
      const lines: string[] = [];
      const service = await startService(
        { connection: test.connection, environment: { DISPATCHER_SECRET: text } },
        lines,
      );
      await service.close();
      return lines.filter((line) => line.includes('DISPATCHER_SECRET is shorter'));
    };
    expect(await warnings('x'.repeat(31))).toHaveLength(1);
    expect(await warnings('x'.repeat(32))).toEqual([]);
  });
});
