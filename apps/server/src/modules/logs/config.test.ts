import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { logInSystemAdmin, type Person } from '#test/support/factories';
import { expectError, startService, useService, type Answer } from '#test/support/harness';

// A separate service, because the configuration applies to the whole database.
const test = useService({ ownDatabase: true });
const base = '/api/v1/system/logs/config';
let system: Person;

beforeAll(async () => {
  system = await logInSystemAdmin(test);
});
beforeEach(async () => {
  expect((await call('POST', '/reset')).body.data).toEqual({ message: expect.any(String), reset: true });
});

const call = (method: 'GET' | 'POST' | 'PATCH', path = '', body?: unknown): Promise<Answer> =>
  test.call(method, base + path, { token: system.token, ...(body === undefined ? {} : { body }) });
const config = async () => (await call('GET')).body.data;
const log = (service: string) => test.service.services.log.child({ service });
const linesWith = (text: string) => test.logLines.filter((line) => line.includes(text));

async function storedWith(text: string): Promise<{ message: string }[]> {
  await test.service.services.logging.flush();
  const query = {
    kind: 'read' as const,
    text: 'select * from application_logs where message like $1',
    values: [`%${text}%`],
    prepare: false,
  };
  return test.service.services.database.platform().interactive.all<{ message: string }>(query);
}

describe('getLogConfig and getLogConfigSection', () => {
  it('200: every setting has a default', async () => {
    expect(await config()).toEqual({
      logLevels: expect.objectContaining({ http: 'debug', auth: 'debug' }),
      console: expect.objectContaining({ enabled: true, format: 'json', colorize: false, timestamp: true }),
      database: expect.objectContaining({ enabled: true, table: 'application_logs', flushInterval: 1000 }),
      formatting: {
        format: 'json',
        includeTimestamp: true,
        includeService: true,
        includeContext: true,
        redactSensitive: true,
      },
      cleanup: expect.objectContaining({ enabled: true, retentionDays: 30, cleanupSchedule: '0 3 * * *' }),
    });
  });

  it('200: each section equals its part of the configuration', async () => {
    const whole = await config();
    for (const section of ['console', 'database', 'formatting', 'cleanup']) {
      expect((await call('GET', `/${section}`)).body.data).toEqual(whole[section]);
    }
    expect((await call('GET', '/log-levels')).body.data).toEqual(whole.logLevels);
  });

  it.each(['logLevels', 'nope', '__proto__', 'constructor', 'CONSOLE'])('404: %s', async (section) => {
    expectError(await call('GET', `/${section}`), 404, 'NOT_FOUND');
    expectError(await call('PATCH', `/${section}`, {}), 404, 'NOT_FOUND');
  });
});

describe('updateLogConfig and updateLogConfigSection', () => {
  it('200: changes only the given settings', async () => {
    const before = await config();
    const answer = await call('PATCH', '', { cleanup: { retentionDays: 90 }, logLevels: { mail: 'error' } });
    expect(answer.body.data).toEqual({ message: expect.any(String), applied: true });
    expect(await config()).toEqual({
      ...before,
      cleanup: { ...before.cleanup, retentionDays: 90 },
      logLevels: { ...before.logLevels, mail: 'error' },
    });
    await call('PATCH', '/cleanup', { retentionDays: 60 });
    await call('PATCH', '/log-levels', { mail: 'warn' });
    const after = await config();
    expect([after.cleanup.retentionDays, after.logLevels.mail]).toEqual([60, 'warn']);
  });

  it('is recorded by the names of what changed', async () => {
    const answer = await call('PATCH', '', { database: { batchSize: 7 } });
    const rows = await test.service.services.database.tenant(systemTenantId).all({
      kind: 'read',
      text: `select user_id, action, details -> 'fields' as fields from audit_logs where details ->> 'requestId' = $1`,
      values: [answer.headers['x-request-id']],
      prepare: false,
    });
    expect(rows).toEqual([{ user_id: system.userId, action: 'log_configuration.updated', fields: ['database'] }]);
  });

  it.each([
    [{ database: { batchSize: 1 } }, 200],
    [{ database: { batchSize: 1000 } }, 200],
    [{ database: { batchSize: 0 } }, 400],
    [{ database: { batchSize: 1001 } }, 400],
    [{ database: { batchSize: 1.5 } }, 400],
    [{ database: { flushInterval: 1000 } }, 200],
    [{ database: { flushInterval: 60_000 } }, 200],
    [{ database: { flushInterval: 999 } }, 400],
    [{ database: { flushInterval: 60_001 } }, 400],
    [{ database: { table: 'users' } }, 400],
    [{ cleanup: { retentionDays: 30 } }, 200],
    [{ cleanup: { retentionDays: 90 } }, 200],
    [{ cleanup: { retentionDays: 31 } }, 400],
    [{ cleanup: { retentionDays: '30' } }, 400],
    [{ cleanup: { archiveEnabled: true } }, 200],
    [{ cleanup: { archiveEnabled: true, archiveLocation: 'logs/production' } }, 200],
    [{ cleanup: { archiveLocation: '' } }, 200],
    [{ cleanup: { archiveLocation: '/var/log' } }, 400],
    [{ cleanup: { archiveLocation: 'logs/../../up' } }, 400],
    [{ cleanup: { archiveLocation: 'https://example.com/logs' } }, 400],
    [{ cleanup: { archiveLocation: 's3://bucket' } }, 400],
    [{ cleanup: { cleanupSchedule: '0 24 * * *' } }, 400],
    [{ cleanup: { cleanupSchedule: '*/15 * * * *' } }, 200],
    [{ cleanup: { cleanupSchedule: '0 4 1-7,15 JAN-JUN/2 MON' } }, 200],
    [{ cleanup: { cleanupSchedule: '0 3 * *' } }, 400],
    [{ cleanup: { cleanupSchedule: '0 0 3 * * *' } }, 400],
    [{ cleanup: { cleanupSchedule: '@daily @ @ @ @' } }, 400],
    [{ cleanup: { cleanupSchedule: '60 3 * * *' } }, 400],
    [{ cleanup: { cleanupSchedule: '0 0 30 2 *' } }, 400],
    [{ cleanup: { cleanupSchedule: `0 0 ${'1,'.repeat(60)}1 * *` } }, 400],
    [{ cleanup: { cleanupSchedule: '59 23 * * *' } }, 200],
    [{ logLevels: { http: 'loud' } }, 400],
    [{ logLevels: { 'no name': 'info' } }, 400],
    [{ console: { format: 'xml' } }, 400],
    [{ console: { format: 'pretty' }, formatting: { format: 'compact' } }, 400],
    [{ console: { levels: ['loud'] } }, 400],
    [{ nope: {} }, 400],
  ])('%j: %i, and validate says the same', async (patch, status) => {
    const before = await config();
    const checked = await call('POST', '/validate', { config: patch });
    expect(checked.body.data.valid).toBe(status === 200);
    expect(checked.body.data.errors.length).toBe(status === 200 ? 0 : 1);
    const answer = await call('PATCH', '', patch);
    expect(answer.status).toBe(status);
    if (status === 400) {
      expectError(answer, 400, 'VALIDATION_ERROR');
      expect(await config()).toEqual(before);
    }
  });

  it.each([
    [{ config: { console: { enabled: true, colour: true } } }, 'console.colour: is not a known property'],
    [{ section: 'log-levels', config: { http: 'info', 'b d': 'info' } }, 'logLevels.b d: is not a known property'],
  ])('%j: validate names what is unknown', async (body, error) => {
    const checked = await call('POST', '/validate', body);
    expect(checked.body.data).toMatchObject({ valid: false, errors: [error] });
  });

  it('400: more than a hundred levels over several changes; a reset allows new ones', async () => {
    const levels = (name: string) =>
      Object.fromEntries(Array.from({ length: 60 }, (_none, at) => [`${name}-${at}`, 'info']));
    expect((await call('PATCH', '/log-levels', levels('one'))).status).toBe(200);
    const before = await config();
    for (const [path, body] of [['', { logLevels: levels('two') }] as const, ['/log-levels', levels('two')] as const])
      expectError(await call('PATCH', path, body), 400, 'VALIDATION_ERROR', 'CONFIG_INVALID');
    const checked = await call('POST', '/validate', { section: 'log-levels', config: levels('two') });
    expect(checked.body.data).toMatchObject({ valid: false, errors: [expect.stringContaining('at most 100')] });
    expect(await config()).toEqual(before);
    expect((await call('POST', '/reset')).status).toBe(200);
    expect((await call('PATCH', '/log-levels', levels('two'))).status).toBe(200);
    await call('POST', '/reset');
  });

  it('400: an invalid section, without the value in the error', async () => {
    const answer = await call('PATCH', '/database', { batchSize: 5000 });
    expectError(answer, 400, 'VALIDATION_ERROR', 'CONFIG_INVALID');
    expect(answer.body.details.errors).toEqual(['database.batchSize: must be <= 1000']);
    expectError(await call('PATCH', '/console', { canary: 1 }), 400, 'VALIDATION_ERROR', 'CONFIG_INVALID');
  });
});

describe('validateLogConfig and previewLogConfig', () => {
  it('200: warns about dangerous settings', async () => {
    const { body } = await call('POST', '/validate', { section: 'formatting', config: { redactSensitive: false } });
    expect(body.data).toEqual({ valid: true, errors: [], warnings: [expect.stringContaining('secrets')] });
  });

  it('400: a section that does not exist', async () => {
    expectError(await call('POST', '/validate', { section: 'nope', config: {} }), 400, 'VALIDATION_ERROR');
  });

  it('200: estimates from the lines that were written', async () => {
    const service = `preview-${newId()}`;
    for (let at = 0; at < 50; at++) log(service).info('one of fifty');
    log(service).error('a single one');
    await storedWith('one of fifty');
    const preview = async (body: unknown) => (await call('POST', '/preview', body)).body.data;
    const all = await preview({});
    const fewer = await preview({ logLevels: { [service]: 'error' } });
    expect(fewer.affectedServices).toEqual([service]);
    expect(fewer.storageImpact.change).toBeLessThan(0);
    expect(fewer.storageImpact.projected - fewer.storageImpact.current).toBe(fewer.storageImpact.change);
    // The preview requests themselves are logged meanwhile.
    expect(all.estimatedLogVolume - fewer.estimatedLogVolume).toBeGreaterThan(40);
    const longer = await preview({ cleanup: { retentionDays: 90 } });
    expect(longer.storageImpact.projected).toBe(longer.storageImpact.current * 3);
  });
});

describe('the configuration takes effect', () => {
  it('the level of a service, on the console and in the database, beginning with the next line', async () => {
    const service = 'tuned';
    const mark = newId();
    await call('PATCH', '/log-levels', { [service]: 'error' });
    log(service).info(`quiet ${mark}`);
    log(service).error(`loud ${mark}`);
    await call('PATCH', '/log-levels', { [service]: 'trace' });
    log(service).trace(`whisper ${mark}`);
    expect(linesWith(mark).map((line) => JSON.parse(line).msg)).toEqual([`loud ${mark}`, `whisper ${mark}`]);
    expect((await storedWith(mark)).map((row) => row.message).toSorted()).toEqual([`loud ${mark}`, `whisper ${mark}`]);
  });

  it('in another process, without a restart', async () => {
    const lines: string[] = [];
    const other = await startService({ connection: test.connection }, lines);
    try {
      const mark = newId();
      const there = other.services.log.child({ service: 'elsewhere' });
      await call('PATCH', '/log-levels', { elsewhere: 'error' });
      await vi.waitFor(() => expect(other.services.logging.levels()).toMatchObject({ elsewhere: 'error' }), 30_000);
      there.warn(`quiet ${mark}`);
      there.error(`loud ${mark}`);
      expect(lines.filter((line) => line.includes(mark)).map((line) => JSON.parse(line).msg)).toEqual([`loud ${mark}`]);
      await call('POST', '/reset');
      await vi.waitFor(() => expect(other.services.logging.levels()).toMatchObject({ elsewhere: 'debug' }), 30_000);
    } finally {
      await other.close();
    }
  });

  it('disabled sections, and their levels', async () => {
    const mark = newId();
    await call('PATCH', '', { console: { enabled: false }, database: { levels: ['warn'] } });
    log('tuned').error(`nowhere ${mark}`);
    log('tuned').warn(`kept ${mark}`);
    expect(linesWith(mark)).toEqual([]);
    expect((await storedWith(mark)).map((row) => row.message)).toEqual([`kept ${mark}`]);
    await call('PATCH', '', { console: { enabled: true, levels: ['error'] }, database: { enabled: false } });
    log('tuned').error(`shown ${mark}`);
    log('tuned').warn(`hidden ${mark}`);
    expect(linesWith(mark).map((line) => JSON.parse(line).msg)).toEqual([`shown ${mark}`]);
    expect(await storedWith(mark)).toHaveLength(1);
  });

  it('the format of the console', async () => {
    const mark = newId();
    const last = () => linesWith(mark).at(-1)!;
    await call('PATCH', '', { console: { format: 'compact', timestamp: false } });
    log('tuned').warn({ a: 1 }, `compact\n${mark}`);
    expect(last()).toBe(`WARN  tuned compact\\u000a${mark} a=1`);
    await call('PATCH', '', { formatting: { format: 'pretty', includeContext: false, includeService: false } });
    expect((await config()).console.format).toBe('pretty');
    log('tuned').warn({ a: 1 }, `pretty ${mark}`);
    expect(last()).toBe(`WARN  pretty ${mark}`);
    await call('PATCH', '', { console: { format: 'json', colorize: true } });
    log('tuned').warn({ a: 1 }, `json ${mark}`);
    expect(JSON.parse(last())).toEqual({ level: 'warn', msg: `json ${mark}` });
  });

  it('secrets are removed unless the configuration disables it', async () => {
    const mark = newId();
    log('tuned').warn({ password: `a ${mark}` }, 'first');
    expect(linesWith(mark)).toEqual([]);
    await call('PATCH', '/formatting', { redactSensitive: false });
    log('tuned').warn({ password: `b ${mark}` }, 'second');
    expect(linesWith(mark)).toHaveLength(1);
  });
});
