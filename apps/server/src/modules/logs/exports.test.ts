import { beforeAll, describe, expect, it, vi } from 'vitest';

import { systemTenantId, type Actor, type Person as ActingPerson } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { ObjectMissing, StoreFull } from '#core/data/files/object-store';
import { exportLogs, removeDeadExports } from '#modules/logs/exports.service';
import { logInSystemAdmin, type Person } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const test = useService({ ownDatabase: true });
const base = '/api/v1/system/logs';
let system: Person;

beforeAll(async () => {
  system = await logInSystemAdmin(test);
});

const call = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Answer> =>
  test.call(method, `${base}${path}`, { token: system.token, ...(body === undefined ? {} : { body }) });
const logFor = (tenantId: string, message: string, fields: object = {}) =>
  test.service.services.log.child({ service: 'exported' }).warn({ tenantId, ...fields }, message);
const nameIn = (answer: Answer): string => answer.body.data.path.split('/').at(-1);

describe('exportLogs', () => {
  it('200: JSON with the same records as the list', async () => {
    const tenantId = newId();
    for (let at = 0; at < 3; at++) logFor(tenantId, `line ${at}`, { at });
    const made = await call('POST', '/export', { tenantId });
    expect(made.status).toBe(200);
    expect(made.body.data).toEqual({
      message: expect.any(String),
      path: expect.stringMatching(/^\/api\/v1\/system\/logs\/exports\/logs-[a-z0-9-]+\.json$/),
      recordCount: 3,
      sizeBytes: expect.any(Number),
    });
    const file = await test.call('GET', made.body.data.path, { token: system.token });
    expect(file.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(Buffer.byteLength(file.text)).toBe(made.body.data.sizeBytes);
    const listed = await call('GET', `?tenantId=${tenantId}&sort=timestamp`);
    expect(JSON.parse(file.text)).toEqual(listed.body.data);
  });

  it('200: no matching lines give an empty file', async () => {
    for (const format of ['json', 'csv']) {
      const made = await call('POST', '/export', { tenantId: newId(), format });
      expect(made.body.data.recordCount).toBe(0);
      const { text } = await test.call('GET', made.body.data.path, { token: system.token });
      if (format === 'json') expect(JSON.parse(text)).toEqual([]);
      else
        expect(text).toBe('"id","timestamp","level","message","service","tenantId","userId","requestId","context"\r\n');
    }
  });

  it('200: more than one batch, each record once and in order', async () => {
    const tenantId = newId();
    for (let at = 0; at < 2500; at++) logFor(tenantId, String(at));
    const made = await call('POST', '/export', { tenantId, level: 'warn' });
    const { text } = await test.call('GET', made.body.data.path, { token: system.token });
    const found = (JSON.parse(text) as { message: string }[]).map(({ message }) => Number(message));
    expect(found.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 2500 }, (_none, at) => at));
  });

  it('records creation and deletion in the audit trail of the system tenant', async () => {
    const made = await call('POST', '/export', { format: 'csv' });
    const gone = await call('DELETE', `/exports/${nameIn(made)}`);
    const trail = async (answer: Answer) =>
      test.service.services.database.tenant(systemTenantId).all({
        kind: 'read',
        text: `select user_id, action, resource_type from audit_logs where details ->> 'requestId' = $1`,
        values: [answer.headers['x-request-id']],
        prepare: false,
      });
    const row = { user_id: system.userId, resource_type: 'log_export' };
    expect(await trail(made)).toEqual([{ ...row, action: 'log_export.created' }]);
    expect(await trail(gone)).toEqual([{ ...row, action: 'log_export.deleted' }]);
  });

  it.each([
    { format: 'xml' },
    { level: 'loud' },
    { startTime: 'yesterday' },
    { tenantId: '42' },
    { path: '/etc/passwd' },
  ])('400: %j', async (body) => {
    expectError(await call('POST', '/export', body), 400, 'VALIDATION_ERROR');
  });

  it('stops after the current batch when the client disconnects, and leaves nothing', async () => {
    const { services } = test.service;
    const actor = { kind: 'user', userId: system.userId } as Actor<ActingPerson>;
    const signal = AbortSignal.abort(new Error('the client disconnected'));
    const before = (await call('GET', '/exports')).body.data;
    await expect(exportLogs({ services, actor, signal }, {})).rejects.toThrow('the client disconnected');
    expect((await call('GET', '/exports')).body.data).toEqual(before);
    const rows = 'select from log_exports where size_bytes is null';
    expect(await services.database.platform().all({ kind: 'read', text: rows, values: [], prepare: false })).toEqual(
      [],
    );
  });

  it('503 STORE_FULL when the disk is full, and lists no partial file', async () => {
    const { files } = test.service.services;
    const before = (await call('GET', '/exports')).body.data;
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const spies = [
      vi.spyOn(files, 'put').mockRejectedValueOnce(full),
      vi.spyOn(files, 'admit').mockRejectedValueOnce(StoreFull()),
    ];
    for (let at = 0; at < 2; at++) {
      const refused = await call('POST', '/export', { tenantId: newId() });
      expectError(refused, 503, 'SERVICE_UNAVAILABLE', 'STORE_FULL');
      expect(refused.headers['retry-after']).toBeDefined();
    }
    for (const spy of spies) spy.mockRestore();
    expect((await call('GET', '/exports')).body.data).toEqual(before);
    const rows = 'select from log_exports where size_bytes is null';
    expect(
      await test.service.services.database.platform().all({ kind: 'read', text: rows, values: [], prepare: false }),
    ).toEqual([]);
  });

  it('429 with Retry-After while two other exports run, and success afterwards', async () => {
    const { files } = test.service.services;
    const put = files.put.bind(files);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const slowed = vi.spyOn(files, 'put').mockImplementation(async (...stored) => {
      await released;
      return put(...stored);
    });
    const two = [call('POST', '/export', { tenantId: newId() }), call('POST', '/export', { tenantId: newId() })];
    await vi.waitUntil(() => slowed.mock.calls.length === 2, { timeout: 30_000 });
    const third = await call('POST', '/export', {});
    release();
    expectError(third, 429, 'RATE_LIMIT_EXCEEDED', 'EXPORTS_RUNNING');
    expect(third.headers['retry-after']).toBe('5');
    expect((await Promise.all(two)).map(({ status }) => status)).toEqual([200, 200]);
    slowed.mockRestore();
    expectError(await call('POST', '/export', { startTime: '2099-01-01T00:00:00Z' }), 422, 'UNPROCESSABLE_ENTITY');
    expect((await call('POST', '/export', {})).status).toBe(200);
  });

  it('422: endTime before startTime', async () => {
    const body = { startTime: '2026-01-02T00:00:00Z', endTime: '2026-01-01T00:00:00Z' };
    expectError(await call('POST', '/export', body), 422, 'UNPROCESSABLE_ENTITY', 'PERIOD_INVALID');
  });
});

describe('getLogExport and deleteLogExport', () => {
  it('200: ranges of a file', async () => {
    const made = await call('POST', '/export', { format: 'csv' });
    const headers = { range: 'bytes=1-2' };
    const part = await test.call('GET', made.body.data.path, { token: system.token, headers });
    expect([part.status, part.text]).toEqual([206, 'id']);
  });

  it('200: deletes once; afterwards the file is neither listed nor found', async () => {
    const name = nameIn(await call('POST', '/export', {}));
    const names = async () => (await call('GET', '/exports')).body.data.map((one: { name: string }) => one.name);
    expect(await names()).toContain(name);
    expect((await call('DELETE', `/exports/${name}`)).body.data).toEqual({
      message: expect.any(String),
      deleted: true,
    });
    expect(await names()).not.toContain(name);
    expectError(await call('DELETE', `/exports/${name}`), 404, 'NOT_FOUND');
    expectError(await call('GET', `/exports/${name}`), 404, 'NOT_FOUND');
  });

  it('200 for one and 404 for all other concurrent deletions', async () => {
    const name = nameIn(await call('POST', '/export', {}));
    const answers = await Promise.all(Array.from({ length: 10 }, () => call('DELETE', `/exports/${name}`)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array.from({ length: 9 }, () => 404),
    ]);
  });

  it.each([
    '..%2f..%2f..%2fetc%2fpasswd',
    '..%5c..%5csecrets.json',
    '%2fetc%2fpasswd',
    '....%2f%2fsecrets.json',
    'logs-2026.json%00.csv',
    'secrets.json',
    'logs-..-x.json',
    'LOGS-2026.JSON',
    '%252e%252e%252fsecrets.json',
    'file:%2f%2f%2fetc%2fpasswd',
    `${'x'.repeat(150)}.json`,
  ])('404 or 400, and nothing of any other file: %s', async (name) => {
    for (const method of ['GET', 'DELETE'] as const) {
      const answer = await call(method, `/exports/${name}`);
      expect([400, 404]).toContain(answer.status);
      expect(answer.text).not.toMatch(/root:|encryption/i);
    }
  });

  it('404 after expiry; the cleanup removes row and bytes', async () => {
    const name = nameIn(await call('POST', '/export', {}));
    const { services } = test.service;
    const later = { ...services, now: () => new Date(Date.now() + 8 * 24 * 60 * 60_000) };
    await removeDeadExports(later, new AbortController().signal);
    expectError(await call('GET', `/exports/${name}`), 404, 'NOT_FOUND');
    await expect(services.files.get(`exports/${name}`)).rejects.toThrow(ObjectMissing);
  });
});
