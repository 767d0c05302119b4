import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { ConnectionLostError } from '#core/data/db/connection';
import type { Database } from '#core/data/db/database';
import { createCallLog, type CallFacts } from '#core/platform/outbound/call-log';
import { withClient } from '#test/support/database';
import { useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });

const facts = (rest: Partial<CallFacts> = {}): CallFacts => ({
  tenantId: newId(),
  operation: 'translation.text',
  connectorId: newId(),
  provider: 'deepl',
  outcome: 'success',
  failure: null,
  httpStatus: 200,
  latencyMs: 12,
  ownCredentials: false,
  characters: 100,
  tokens: 7,
  requestId: 'request',
  userId: newId(),
  ...rest,
});

const rowsOf = (table: string, tenantId: string) =>
  withClient(test.connection, async (client) => {
    const { rows } = await client.query(`select * from ${table} where tenant_id = $1`, [tenantId]);
    return rows as Record<string, any>[];
  });

const start = Date.parse('2026-03-01T12:34:56Z');

type Interactive = ReturnType<Database['platform']>['interactive'];

/** A log whose writes go wrong as `fault` says: before they take effect, or after. */
function open(fault?: (write: () => Promise<unknown>) => Promise<unknown>, rest: { max?: number } = {}) {
  const { database, log } = test.service.services;
  const platform = database.platform();
  const interactive = {
    ...platform.interactive,
    batch: (queries: Parameters<Interactive['batch']>[0]) =>
      fault === undefined ? platform.interactive.batch(queries) : fault(() => platform.interactive.batch(queries)),
  };
  const faulty = { ...database, platform: () => ({ ...platform, interactive }) } as unknown as Database;
  let time = start;
  const now = () => new Date((time += 1000));
  return createCallLog({ database: faulty, log, now, delayMs: 60_000, ...rest });
}

describe('the log of calls', () => {
  it('keeps each call, and sums per hour, operation and provider', async () => {
    const log = open();
    const call = facts();
    log.record(call);
    log.record({ ...call, outcome: 'failure', failure: 'answer', httpStatus: 500, characters: null, tokens: null });
    log.record({ ...call, outcome: 'rate_limited', failure: 'rate_limited', httpStatus: 429, tokens: null });
    log.recordCacheHit({ tenantId: call.tenantId, operation: call.operation, provider: call.provider });
    log.recordCacheHit({ tenantId: call.tenantId, operation: call.operation, provider: call.provider }, 4);
    await log.flush();
    const rows = await rowsOf('provider_calls', call.tenantId);
    expect(rows).toHaveLength(3);
    expect(rows.find(({ outcome }) => outcome === 'success')).toMatchObject({
      operation_key: 'translation.text',
      connector_id: call.connectorId,
      provider: 'deepl',
      failure: null,
      http_status: 200,
      latency_ms: 12,
      own_credentials: false,
      characters: 100,
      tokens: 7,
      request_id: 'request',
      user_id: call.userId,
    });
    expect(await rowsOf('provider_call_hours', call.tenantId)).toMatchObject([
      {
        hour: new Date('2026-03-01T12:00:00Z'),
        requests: '3',
        successes: '1',
        failures: '1',
        rate_limited: '1',
        cache_hits: '5',
        latency_ms: '36',
        characters: '200',
        tokens: '7',
      },
    ]);
    await log.close();
  });

  it('writes what waits when it is closed', async () => {
    const log = open();
    const call = facts();
    log.record(call);
    await log.close();
    expect(await rowsOf('provider_calls', call.tenantId)).toHaveLength(1);
  });

  it.each<[string, boolean]>([
    ['before it took effect', false],
    ['after it took effect', true],
  ])('writes everything once though the database was lost %s', async (_when, takesEffect) => {
    let isLost = true;
    const log = open(async (write) => {
      if (!isLost) return write();
      if (takesEffect) await write();
      throw new ConnectionLostError('lost');
    });
    const call = facts();
    log.record(call);
    await log.flush();
    log.record(call);
    await log.flush();
    isLost = false;
    log.record(call);
    await log.flush();
    expect(await rowsOf('provider_calls', call.tenantId)).toHaveLength(3);
    expect(await rowsOf('provider_call_hours', call.tenantId)).toMatchObject([{ requests: '3', latency_ms: '36' }]);
    await log.close();
  });

  it('ends a flush though calls keep coming in, and writes what came in meanwhile at once', async () => {
    const call = facts();
    let writes = 0;
    const log = open((write) => {
      writes += 1;
      // As often as there are writes, so that there is always something to write.
      if (writes < 50) log.record(call);
      return write();
    });
    log.record(call);
    await log.flush();
    expect(writes).toBe(1);
    expect(await rowsOf('provider_calls', call.tenantId)).toHaveLength(1);
    await log.flush();
    expect(writes).toBe(2);
    writes = 50;
    await log.close();
    expect(await rowsOf('provider_calls', call.tenantId)).toHaveLength(3);
  });

  it('writes once for all that ask while a write is under way', async () => {
    const call = facts();
    const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let writes = 0;
    const log = open(async (write) => {
      writes += 1;
      begun.resolve();
      await held.promise;
      if (writes < 50) log.record(call);
      return write();
    });
    log.record(call);
    const first = log.flush();
    await begun.promise;
    const flushes = Array.from({ length: 20 }, () => {
      log.record(call);
      return log.flush();
    });
    held.resolve();
    await Promise.all([first, ...flushes]);
    expect(writes).toBe(2);
    expect(await rowsOf('provider_calls', call.tenantId)).toHaveLength(22);
    writes = 50;
    await log.close();
  });

  it('gives up what the database never takes, and goes on', async () => {
    const log = open();
    const [bad, good] = [facts({ outcome: 'nonsense' as 'success' }), facts()];
    log.record(bad);
    await log.flush();
    log.record(good);
    await log.flush();
    expect(await rowsOf('provider_calls', bad.tenantId)).toEqual([]);
    expect(await rowsOf('provider_calls', good.tenantId)).toHaveLength(1);
    await log.close();
  });

  it('does not grow without bounds while the database is away', async () => {
    let isAway = true;
    const log = open((write) => (isAway ? Promise.reject(new ConnectionLostError('away')) : write()), { max: 10 });
    const call = facts();
    log.record(call);
    await log.flush();
    for (let at = 0; at < 100; at += 1) log.record(call);
    for (let at = 0; at < 100; at += 1) log.recordCacheHit({ ...facts(), provider: `provider ${at}` });
    isAway = false;
    await log.flush();
    expect(await rowsOf('provider_calls', call.tenantId)).toHaveLength(11);
    // The sums know of all of them.
    expect(await rowsOf('provider_call_hours', call.tenantId)).toMatchObject([{ requests: '101' }]);
    expect(
      test.logLines.some((line) => line.includes('calls of providers came faster than they could be written')),
    ).toBe(true);
    await log.close();
  });

  it('adds up what several processes write at once', async () => {
    const logs = Array.from({ length: 8 }, () => open());
    const calls = ['b', 'a', 'c'].map((provider) => facts({ provider }));
    for (let round = 0; round < 5; round += 1) {
      for (const [at, log] of logs.entries()) {
        const order = at % 2 === 0 ? calls : calls.toReversed();
        for (const call of order) log.record({ ...call, tenantId: calls[0]!.tenantId });
      }
      await Promise.all(logs.map((log) => log.flush()));
    }
    const hours = await rowsOf('provider_call_hours', calls[0]!.tenantId);
    expect(hours.map(({ requests }) => requests)).toEqual(['40', '40', '40']);
    await Promise.all(logs.map((log) => log.close()));
  });

  it('counts for Prometheus, without tenants or names of providers', async () => {
    const log = open();
    log.record(facts({ latencyMs: 1500 }));
    log.record(facts({ outcome: 'failure', latencyMs: 500 }));
    log.recordCacheHit({ tenantId: newId(), operation: 'translation.text', provider: 'deepl' }, 3);
    const read = Object.fromEntries(await Promise.all(log.metrics.map(async (one) => [one.name, await one.read()])));
    const labels = (outcome: string) => ({ operation: 'translation.text', outcome });
    expect(read).toEqual({
      atrium_provider_calls_total: [
        { labels: labels('success'), value: 1 },
        { labels: labels('failure'), value: 1 },
      ],
      atrium_provider_call_seconds_total: [
        { labels: labels('success'), value: 1.5 },
        { labels: labels('failure'), value: 0.5 },
      ],
      atrium_provider_cache_hits_total: [{ labels: { operation: 'translation.text' }, value: 3 }],
    });
    await log.close();
  });
});
