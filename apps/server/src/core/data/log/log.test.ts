import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { defaultTiming } from '#core/data/db/timing';
import { createLogging } from '#core/data/log/log';
import { createRequestCounts } from '#core/data/log/request-counts';
import { withClient } from '#test/support/database';
import { createTenant, logInSystemAdmin } from '#test/support/factories';
import { startService, useService } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

// Of its own, because some tests lock tables.
const test = useService({ ownDatabase: true, databaseTiming: defaultTiming });

type Row = { level: number; service: string; message: string; context: Record<string, unknown> };

const rowsWith = (mark: string) =>
  withClient(test.connection, async (client) => {
    const text = `select level, service, message, context::json from application_logs
                   where message like $1 or context like $1 order by logged_at, id`;
    return (await client.query<Row>(text, [`%${mark}%`])).rows;
  });

function setUp(level = 'debug') {
  const lines: string[] = [];
  const destination = new PassThrough();
  destination.on('data', (chunk: Buffer) => lines.push(...chunk.toString().trim().split('\n')));
  return { lines, logging: createLogging({ level, destination }) };
}

describe('lines', () => {
  it('go to the console and to the database, those from before the connection too', async () => {
    const { lines, logging } = setUp();
    const mark = newId();
    logging.log.child({ service: 'part' }).info({ a: 1, tenantId: 'no id' }, `early ${mark}`);
    logging.connect(test.service.services.database);
    logging.log.child({ service: 'part' }).error(new Error(`late ${mark}`));
    await logging.flush();
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'info', service: 'part', msg: `early ${mark}`, a: 1 },
      { level: 'error', service: 'part', msg: `late ${mark}`, err: { type: 'Error', message: `late ${mark}` } },
    ]);
    expect(await rowsWith(mark)).toMatchObject([
      { level: 30, service: 'part', message: `early ${mark}`, context: { a: 1, tenantId: 'no id' } },
      { level: 50, service: 'part', message: `late ${mark}`, context: { err: { message: `late ${mark}` } } },
    ]);
  });

  it('are the same with ids given apart, and with ids among the fields', async () => {
    const { lines, logging } = setUp();
    logging.connect(test.service.services.database);
    const about = { requestId: newId(), tenantId: newId(), userId: null };
    const fields = { mark: newId(), status: 200 };
    logging.log.child({ service: 'http', redaction: 'none' }).info(fields, 'GET / 200', about);
    logging.log.child({ service: 'http' }).info({ ...about, ...fields }, 'GET / 200');
    await logging.flush();
    const [apart, among] = lines.map((line) => ({ ...JSON.parse(line), time: undefined }));
    expect(apart).toEqual(among);
    expect(apart).toMatchObject({ ...about, ...fields });
    const rows = await withClient(test.connection, (client) =>
      client.query(
        `select concerned_tenant_id, user_id, request_id, context from application_logs where context like $1`,
        [`%${fields.mark}%`],
      ),
    );
    const kept = {
      concerned_tenant_id: about.tenantId,
      user_id: null,
      request_id: about.requestId,
      context: JSON.stringify(fields),
    };
    expect(rows.rows).toEqual([kept, kept]);
  });

  it('can take no name, no text and no number that would keep others from being written', async () => {
    const { logging } = setUp();
    logging.connect(test.service.services.database);
    const mark = newId();
    const { log } = logging;
    log.info({ level: 'loud', time: 'never', service: {}, msg: 1, requestId: { a: 1 }, userId: 7 }, `names ${mark}`);
    log.info({ text: '\0\ud800', '\0': 1, huge: 1e308, nothing: undefined, nan: Number.NaN }, `texts \0\udfff ${mark}`);
    log.info(`${mark} %s %d %j`);
    log.info({ next: 'last' }, `last ${mark}`);
    await logging.flush();
    expect(await rowsWith(mark)).toHaveLength(4);
  });

  it('arrive unchanged, with any content', async () => {
    const { lines, logging } = setUp();
    logging.connect(test.service.services.database);
    const mark = newId();
    const said = ['NULL', '', '{"a",b}', 'a\\"b\\', "it's", 'two\nlines\r\n', '\u0085\u2028\t', '\\u0000 €'];
    for (const text of said) logging.log.child({ service: `part ${text}` }).info({ mark, [text]: text }, text);
    await logging.flush();
    const expected = said.map((text) => ({ service: `part ${text}`, message: text, context: { mark, [text]: text } }));
    expect((await rowsWith(mark)).map(({ service, message, context }) => ({ service, message, context }))).toEqual(
      expected,
    );
    expect(lines.map((line) => JSON.parse(line))).toMatchObject(
      expected.map(({ service, message, context }) => ({ service, msg: message, ...context })),
    );
  });

  it('that the database refuses are dropped alone, without the other lines of their batch', async () => {
    const { lines, logging } = setUp();
    const mark = newId();
    for (let at = 0; at < 9; at++) logging.log.info(`good ${mark}`);
    logging.log.info(`bad ${mark}`);
    await withClient(test.connection, async (client) => {
      await client.query(`alter table application_logs add constraint good check (message <> 'bad ${mark}')`);
      logging.connect(test.service.services.database);
      await logging.flush();
      await client.query('alter table application_logs drop constraint good');
    });
    expect((await rowsWith(mark)).map(({ message }) => message)).toEqual(
      Array.from({ length: 9 }, () => `good ${mark}`),
    );
    expect(lines.filter((line) => line.includes('refused a log line'))).toHaveLength(1);
  });

  it('wait while the table differs from that of this version', async () => {
    const { lines, logging } = setUp();
    const mark = newId();
    for (let at = 0; at < 9; at++) logging.log.info(`waiting ${mark}`);
    await withClient(test.connection, async (client) => {
      await client.query('alter table application_logs rename column message to other_message');
      logging.connect(test.service.services.database);
      await logging.flush();
      await client.query('alter table application_logs rename column other_message to message');
    });
    expect(logging.state()).toMatchObject({ isWaiting: true, waiting: 9, kept: 0 });
    await logging.flush();
    expect(logging.state()).toMatchObject({ isWaiting: false, waiting: 0, kept: 9 });
    expect(await rowsWith(mark)).toHaveLength(9);
    expect(lines.filter((line) => line.includes('refused a log line'))).toEqual([]);
  });

  it('of a silent console are still kept', async () => {
    const { lines, logging } = setUp('silent');
    logging.connect(test.service.services.database);
    const mark = newId();
    logging.log.info(`kept ${mark}`);
    logging.log.debug(`not kept ${mark}`);
    await logging.flush();
    expect(lines).toEqual([]);
    expect(await rowsWith(mark)).toHaveLength(1);
  });

  it('that wait are written before the process ends', async () => {
    const service = await startService({ connection: test.connection });
    const mark = newId();
    for (let at = 0; at < 1200; at++) service.services.log.info(`waiting ${mark}`);
    await service.close();
    expect(await rowsWith(mark)).toHaveLength(1200);
  });
});

describe('a database that cannot be written to', () => {
  const lock = (work: () => Promise<void>) =>
    withClient(test.connection, async (client) => {
      await client.query('begin; lock table application_logs, request_minutes in access exclusive mode');
      await work();
      await client.query('rollback');
    });

  it('delays no request, and all lines are written later, each once', async () => {
    const { services } = test.service;
    const tenant = await createTenant(test);
    const mark = newId();
    await lock(async () => {
      for (let at = 0; at < 1500; at++) services.log.info(`waiting ${mark}`);
      void services.logging.flush();
      for (let at = 0; at < 20; at++) {
        const answer = await test.call('GET', '/api/v1/secure/spaces', { token: tenant.admin.token });
        expect(answer.status).toBe(200);
      }
    });
    await vi.waitFor(async () => expect(await rowsWith(mark)).toHaveLength(1500), { timeout: 30_000, interval: 100 });
  }, 60_000);

  it('is reported on the console, once, and not to itself', async () => {
    const { lines, logging } = setUp();
    logging.connect(test.service.services.database);
    const mark = newId();
    await lock(async () => {
      logging.log.info(`waiting ${mark}`);
      await logging.flush();
      await logging.flush();
    });
    const failures = () => lines.filter((line) => line.includes('could not be written'));
    expect(failures()).toHaveLength(1);
    expect(JSON.parse(failures()[0]!)).toMatchObject({ level: 'warn', service: 'log', waiting: 1 });
    await logging.close();
    expect(await rowsWith(mark)).toHaveLength(1);
    expect(await rowsWith('could not be written')).toEqual([]);
    expect(failures()).toHaveLength(1);
  }, 60_000);

  it('loses the least important lines when there are too many, and says how many', async () => {
    const { lines, logging } = setUp();
    const mark = newId();
    for (let at = 0; at < 15_000; at++) logging.log.debug(`debug ${mark}`);
    for (let at = 0; at < 10_000; at++) logging.log.warn(`warn ${mark}`);
    logging.connect(test.service.services.database);
    await logging.flush();
    const kept = Map.groupBy(await rowsWith(mark), ({ level }) => level);
    expect([kept.get(20)?.length, kept.get(40)?.length]).toEqual([10_000, 10_000]);
    const dropped = lines.filter((line) => line.includes('faster than they could be written'));
    expect(dropped.map((line) => JSON.parse(line).dropped)).toEqual([5000]);
  }, 60_000);
});

describe('counts of requests', () => {
  it('of several processes add up, and what could not be written is counted later', async () => {
    const { database, now } = test.service.services;
    const { log } = setUp().logging;
    const tenantId = newId();
    const all = Array.from({ length: 5 }, () => createRequestCounts({ database, log, now, delayMs: 1e9 }));
    const request = { ms: 5, isError: true, message: `planted ${tenantId}`, tenantId };
    await Promise.all(
      all.map(async (counts) => {
        for (let at = 0; at < 200; at++) counts.record(request);
        await counts.flush();
        counts.record(request);
        await counts.close();
      }),
    );
    const db = database.platform().interactive;
    const sum = async (text: string) =>
      (await db.first<{ n: number }>({ kind: 'write', text, values: [tenantId], prepare: false }))?.n;
    expect(
      await sum('select sum(requests)::bigint as n from tenant_request_hours where concerned_tenant_id = $1'),
    ).toBe(1005);
    expect(await sum(`select sum(errors)::bigint as n from error_hours where message = 'planted ' || $1::text`)).toBe(
      1005,
    );
  });
});

describe('requests lately', () => {
  it('are those of this second and the one before', () => {
    const { database } = test.service.services;
    let at = 1_000_500;
    const now = () => new Date(at);
    const counts = createRequestCounts({ database, log: setUp().logging.log, now, delayMs: 1e9 });
    const request = { ms: 5, isError: false, message: undefined, tenantId: null };
    const answer = (times: number) => Array.from({ length: times }, () => counts.record(request));
    answer(3);
    expect(counts.lately()).toBe(3);
    at += 1000;
    answer(2);
    expect(counts.lately()).toBe(5);
    at += 1000;
    expect(counts.lately()).toBe(2);
    at += 5000;
    expect(counts.lately()).toBe(0);
  });
});

describe('twenty secrets planted in real requests', () => {
  it('are in no line and no row', async () => {
    const tenant = await createTenant(test);
    const system = await logInSystemAdmin(test);
    const { token } = tenant.admin;
    const canary = (name: string) => `canary-${name}-0123456789`;
    const login = '/api/v1/public/auth/login';
    const send = (method: 'GET' | 'POST' | 'PATCH', url: string, call: object = {}) =>
      test.call(method, url, { token, ...call });
    await send('POST', login, { body: { email: `${canary('mail')}@example.com`, password: canary('password') } });
    await send('POST', login, { body: { email: tenant.admin.email, password: canary('wrong') } });
    await send('POST', login, { body: `{"password":"${canary('broken')}"` });
    await send('GET', `/api/v1/secure/spaces?search=${canary('query')}&token=${canary('token')}`);
    await send('GET', `/api/v1/secure/${canary('path')}`);
    await send('GET', '/api/v1/secure/spaces', { token: canary('bearer') });
    await send('GET', '/api/v1/secure/spaces', { headers: { 'x-api-key': `svc_sk_${canary('key')}` } });
    for (const name of [
      'cookie',
      'x-dispatcher-secret',
      'x-cron-secret',
      'x-device-fingerprint',
      'referer',
      'user-agent',
    ]) {
      await send('GET', '/api/v1/secure/spaces', { headers: { [name]: canary(name) } });
    }
    await send('POST', '/api/v1/public/auth/refresh', { body: { refreshToken: `rt1_${canary('refresh')}` } });
    await send('POST', '/api/v1/public/auth/reset-password', {
      body: { token: canary('reset'), password: canary('new') },
    });
    await send('POST', '/api/v1/secure/auth/2fa/verify', { body: { method: 'totp', code: canary('code') } });
    await send('POST', '/api/v1/secure/users', {
      body: { email: `${canary('person')}@example.com`, password: canary('of') },
    });
    await send('POST', '/api/v1/secure/spaces', { body: { name: canary('name'), [canary('field')]: 1 } });
    await send('POST', '/api/v1/secure/ai/providers', {
      body: { api_key: 'x', api_name: 'x', api_base_url: 'nope', auth_config: { token: canary('auth') } },
    });
    await test.call('GET', `/api/v1/system/logs?search=${canary('search')}`, { token: system.token });
    await test.call('POST', '/api/v1/system/logs/config/validate', {
      token: system.token,
      body: { config: { [canary('config')]: 1 } },
    });
    const { services } = test.service;
    services.log.error({ err: new Error('x', { cause: { secret: canary('cause') } }) }, `Bearer ${canary('message')}`);
    await services.logging.flush();
    await services.requestCounts.flush();
    expect(test.logLines.length).toBeGreaterThan(20);
    expect(test.logLines.filter((line) => line.includes('canary-'))).toEqual([]);
    expect(await rowsWith('canary-')).toEqual([]);
    const told = await withClient(test.connection, (client) =>
      client.query(`select 1 from error_hours where message like '%canary%'`),
    );
    expect(told.rowCount).toBe(0);
  });
});
