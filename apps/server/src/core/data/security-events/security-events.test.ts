import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createLogging } from '#core/data/log/log';
import { createSecurityEvents } from '#core/data/security-events/security-events';
import { withClient } from '#test/support/database';
import { createMember, createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// Of its own, because one test locks the table.
const test = useService({ ownDatabase: true });
const never = 1e9;

function setUp(delayMs: number) {
  const lines: string[] = [];
  const destination = new PassThrough();
  destination.on('data', (chunk: Buffer) => lines.push(...chunk.toString().trim().split('\n')));
  const { database, now } = test.service.services;
  const { log } = createLogging({ level: 'debug', destination });
  const tenantId = newId();
  const events = createSecurityEvents({ database, log, now, delayMs });
  const record = (details: Record<string, unknown> = {}) =>
    events.record({ type: 'permission_denied', tenantId, userId: null, details });
  return { events, lines, tenantId, record };
}

type Row = { event_type: string; user_id: string | null; details: Record<string, unknown> };

const rowsOf = (tenantId: string) =>
  withClient(test.connection, async (client) => {
    const text = 'select * from security_events where concerned_tenant_id = $1 order by id';
    return (await client.query<Row>(text, [tenantId])).rows;
  });

describe('security events', () => {
  it('are written a moment later, together', async () => {
    const { record, tenantId } = setUp(1);
    for (let count = 0; count < 3; count++) record({ count });
    await vi.waitFor(async () => expect(await rowsOf(tenantId)).toHaveLength(3), { timeout: 30_000 });
    expect((await rowsOf(tenantId)).map((row) => row.details.count)).toEqual([0, 1, 2]);
  });

  it('that still wait are written when the service closes', async () => {
    const { events, record, tenantId } = setUp(never);
    for (let count = 0; count < 2500; count++) record();
    expect(await rowsOf(tenantId)).toEqual([]);
    await events.close();
    expect(await rowsOf(tenantId)).toHaveLength(2500);
  });

  it('beyond 10,000 that wait are dropped and counted; later ones are kept again', async () => {
    const { events, lines, record, tenantId } = setUp(never);
    for (let count = 0; count < 10_500; count++) record();
    await events.close();
    expect(await rowsOf(tenantId)).toHaveLength(10_000);
    expect(lines.map((line) => (JSON.parse(line) as { dropped?: number }).dropped)).toEqual([500]);
    record();
    await events.close();
    expect(await rowsOf(tenantId)).toHaveLength(10_001);
    expect(lines).toHaveLength(1);
  });

  it('with text that PostgreSQL cannot store keep no others from being written', async () => {
    const { events, record, tenantId } = setUp(never);
    record({ text: 'a\0b', list: ['\ud800'] });
    record({ text: 'ordinary' });
    await events.close();
    expect((await rowsOf(tenantId)).map((row) => row.details)).toEqual([
      { text: 'ab', list: ['\ufffd'] },
      { text: 'ordinary' },
    ]);
  });

  it('that PostgreSQL refuses are given up alone, and told of', async () => {
    const { events, lines, record, tenantId } = setUp(never);
    const refused = (userId: string) => events.record({ type: 'admin_action', tenantId, userId, details: {} });
    refused('no uuid');
    for (let count = 0; count < 1500; count++) record({ count });
    refused('none either');
    record({ count: 1500 });
    await events.close();
    const kept = (await rowsOf(tenantId)).map((row) => row.details.count);
    expect(kept).toEqual(Array.from({ length: 1501 }, (_, count) => count));
    const told = lines.map((line) => JSON.parse(line) as { level: string; msg: string });
    expect(told.map(({ level, msg }) => [level, msg])).toEqual(
      Array.from({ length: 2 }, () => ['error', 'the database refused a security event']),
    );
  });

  it('delay no request: it is answered while its event cannot be written', async () => {
    const tenant = await createTenant(test);
    const { token, userId } = await createMember(test, tenant);
    await withClient(test.connection, async (client) => {
      await client.query('begin; lock table security_events in access exclusive mode');
      const isWaiting = async () => {
        const text = `select from pg_locks where relation = 'security_events'::regclass and not granted`;
        return (await client.query(text)).rowCount === 1;
      };
      expect((await test.call('GET', '/api/v1/secure/users', { token })).status).toBe(403);
      await vi.waitFor(async () => expect(await isWaiting()).toBe(true), { timeout: 30_000 });
      for (let count = 0; count < 20; count++)
        expect((await test.call('GET', '/api/v1/secure/users', { token })).status).toBe(403);
      await vi.waitFor(async () => expect(await isWaiting()).toBe(true), { timeout: 10_000 });
      await client.query('rollback');
    });
    const mine = async () => (await rowsOf(tenant.tenantId)).filter((row) => row.user_id === userId);
    await vi.waitFor(async () => expect(await mine()).toHaveLength(21), { timeout: 30_000 });
  });
});
