import { describe, expect, it, vi } from 'vitest';

import { withClient } from '#test/support/database';
import { createTenant, logInSystemAdmin } from '#test/support/factories';
import { expectError, startService, testServiceOf, useService } from '#test/support/harness';
import { useOpened } from '#test/support/opened';
import { openRelay } from '#test/support/relay';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const { open, listen } = useOpened();
const test = useService({ ownDatabase: true });
const long = { timeout: 60_000, interval: 20 };
const contacts = '/api/v1/secure/contacts';
const health = (level: string) => test.call('GET', `/api/v1/system/health?level=${level}`);

/** Runs a statement as the owner, also in a database that is read-only by default. */
function asOwner(text: string) {
  const connection = { ...test.connection, options: '-c default_transaction_read_only=off' };
  return withClient(connection, (client) => client.query(text));
}

/** As after a failover, when all connections are new. */
const reconnect = () =>
  asOwner(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`);

describe('damaged data', () => {
  it('is answered 500 and reported in the log, the metrics and health', async () => {
    const { admin } = await createTenant(test);
    await test.call('POST', contacts, { token: admin.token, body: { firstName: 'Ada' } });
    await asOwner(`create function meet_damage() returns boolean language plpgsql as $$ begin
      raise exception 'invalid page in block 0 of relation "base/5/16384"' using errcode = 'XX001'; end $$;
      create policy damage on contacts as restrictive for select using (meet_damage())`);
    open.push(() => asOwner('drop policy damage on contacts; drop function meet_damage'));
    expectError(await test.call('GET', contacts, { token: admin.token }), 500, 'INTERNAL_ERROR');
    const lines = test.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        service: 'database',
        msg: 'the database found damaged data',
        sqlState: 'XX001',
        operation: 'SELECT',
        tables: expect.arrayContaining(['contacts']),
        file: 'base/5/16384',
      }),
    );
    expect(await test.service.services.metrics.text()).toMatch(
      /^atrium_database_faults_total\{kind="damaged"\} [1-9]\d*$/m,
    );
    const { status, body } = await health('full');
    expect([status, body.status, body.services.database]).toMatchObject([200, 'degraded', { status: 'degraded' }]);
  });
});

describe('lost notifications between processes', () => {
  it('do not keep a revoked credential or a blocked address valid in another process', async () => {
    const relay = await openRelay(listen);
    const connection = { ...relay.connection, database: test.connection.database };
    const service = await startService({ connection });
    open.push(() => service.close());
    const cutOff = testServiceOf(service, connection);
    const { admin } = await createTenant(test);
    const { token } = admin;
    const stranger = '203.0.113.77';
    const operator = await logInSystemAdmin(test);
    expect((await cutOff.call('GET', contacts, { token })).status).toBe(200);
    expect((await cutOff.call('GET', contacts, { token, ip: stranger })).status).toBe(200);

    relay.swallow();
    expect((await test.call('POST', '/api/v1/public/auth/logout', { token })).status).toBeLessThan(300);
    const rule = { action: 'block', range: stranger };
    const blocked = await test.call('POST', '/api/v1/system/security/ip-rules', { token: operator.token, body: rule });
    expect(blocked.status).toBe(201);
    await vi.waitUntil(async () => (await cutOff.call('GET', contacts, { token })).status === 401, long);
    const statusOf = async (path: string) => (await cutOff.call('GET', path, { ip: stranger })).status;
    await vi.waitUntil(async () => (await statusOf('/api/v1/system/info')) === 403, long);
  });
});

describe('a read-only database', () => {
  it('leads to 503 for writes and logins, answers to reads and a report in health, and recovers by itself', async () => {
    const { admin } = await createTenant(test);
    const { token, email, password } = admin;
    const write = () => test.call('POST', contacts, { token, body: { firstName: 'Ada' } });
    const logIn = () => test.call('POST', '/api/v1/public/auth/login', { body: { email, password } });
    const read = () => test.call('GET', contacts, { token });
    await asOwner(`alter database ${test.connection.database} set default_transaction_read_only = on`);
    await reconnect();
    await vi.waitUntil(async () => (await read()).status === 200, long);
    for (const send of [write, logIn]) {
      for (let count = 0; count < 20; count++) {
        const answer = await send();
        expectError(answer, 503, 'SERVICE_UNAVAILABLE');
        expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
        expect((await read()).status).toBe(200);
      }
    }
    for (const level of ['basic', 'ready', 'full']) {
      const answer = await health(level);
      expect(answer).toMatchObject({ status: 200, body: { status: 'degraded' } });
      expect(answer.body.degradedServices).toContain('database');
    }
    expect((await health('full')).body.services.database).toMatchObject({
      status: 'degraded',
      message: 'read-only: writes are refused',
    });
    await asOwner(`alter database ${test.connection.database} reset all`);
    await vi.waitUntil(async () => (await write()).status === 201 && (await logIn()).status === 200, long);
  });
});
