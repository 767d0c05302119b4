import { describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createUsage } from '#core/data/usage/usage';
import { usageOf } from '#core/data/usage/usage.queries';
import { withClient } from '#test/support/database';
import { useService } from '#test/support/harness';

const test = useService();
const never = 1e9;
const hour = 3_600_000;
const noon = Date.parse('2026-03-04T12:00:00.000Z');

/** The usage of another process, with a clock that the test moves; its writes may be made to fail. */
function createProcess(options: { delayMs?: number } = {}) {
  const { database, log } = test.service.services;
  const state = { now: noon, failing: 0, losing: 0, writes: 0 };
  const failingNow = (tenantId: string) => {
    const db = database.tenant(tenantId);
    const all: typeof db.interactive.all = async (query) => {
      state.writes += 1;
      if (state.failing-- > 0) throw new Error('the database is away');
      const rows = await db.interactive.all(query);
      if (state.losing-- > 0) throw new Error('the acknowledgement is lost');
      return rows;
    };
    return { interactive: { all } } as unknown as typeof db;
  };
  const usage = createUsage({
    database: { ...database, tenant: failingNow },
    log,
    now: () => new Date(state.now),
    delayMs: options.delayMs ?? never,
  });
  return { state, usage };
}

const newCredential = () => ({ tenantId: newId(), credentialId: newId() });
type Credential = ReturnType<typeof newCredential>;

const use = (credential: Credential, more: { operation?: string; isError?: boolean; ip?: string } = {}) => ({
  operation: 'listSpaces',
  isError: false,
  ip: '203.0.113.7',
  ...credential,
  ...more,
});

async function totalsOf({ tenantId, credentialId }: Credential) {
  const text = 'select * from credential_totals where tenant_id = $1 and credential_id = $2';
  const values = [tenantId, credentialId];
  return test.service.services.database.tenant(tenantId).first<any>({ kind: 'read', text, values, prepare: false });
}

const hoursOf = ({ tenantId, credentialId }: Credential) =>
  test.service.services.database.tenant(tenantId).all<any>({
    kind: 'read',
    text: `select hour, operation, requests, errors from credential_usage
           where tenant_id = $1 and credential_id = $2 order by hour, operation`,
    values: [tenantId, credentialId],
    prepare: false,
  });

describe('the usage of credentials', () => {
  it('is counted by hour and operation, with the time and address of the last use', async () => {
    const { state, usage } = createProcess();
    const credential = newCredential();
    usage.record(use(credential));
    usage.record(use(credential, { isError: true }));
    usage.record(use(credential, { operation: 'getSpace' }));
    state.now += hour - 1;
    usage.record(use(credential));
    state.now += 1;
    usage.record(use(credential, { ip: '2001:db8::1' }));
    await usage.close();
    expect(await totalsOf(credential)).toMatchObject({
      requests: 5,
      errors: 1,
      last_used_at: '2026-03-04T13:00:00.000Z',
      last_used_ip: '2001:db8::1',
    });
    expect(await hoursOf(credential)).toEqual([
      { hour: '2026-03-04T12:00:00.000Z', operation: 'getSpace', requests: 1, errors: 0 },
      { hour: '2026-03-04T12:00:00.000Z', operation: 'listSpaces', requests: 3, errors: 1 },
      { hour: '2026-03-04T13:00:00.000Z', operation: 'listSpaces', requests: 1, errors: 0 },
    ]);
  });

  it('is written a moment later; no request waits for it', async () => {
    const { usage } = createProcess({ delayMs: 1 });
    const credential = newCredential();
    usage.record(use(credential));
    await vi.waitFor(async () => expect(await totalsOf(credential)).toMatchObject({ requests: 1 }), 30_000);
    usage.record(use(credential));
    await vi.waitFor(async () => expect(await totalsOf(credential)).toMatchObject({ requests: 2 }), 30_000);
    await usage.close();
  });

  it('of several tenants and credentials is kept apart', async () => {
    const { usage } = createProcess();
    const [first, second] = [newCredential(), newCredential()];
    const sibling = { ...first, credentialId: newId() };
    for (const [at, credential] of [first, second, sibling].entries())
      for (let count = 0; count <= at; count++) usage.record(use(credential));
    await usage.close();
    const requests = await Promise.all([first, second, sibling].map(async (one) => (await totalsOf(one)).requests));
    expect(requests).toEqual([1, 2, 3]);
  });

  it('is exact when several processes add to the same rows at once, in any order', async () => {
    const credentials = Array.from({ length: 5 }, newCredential);
    const [{ tenantId }] = credentials as [Credential];
    for (const credential of credentials) credential.tenantId = tenantId;
    const processes = Array.from({ length: 4 }, () => createProcess({ delayMs: 1 }));
    for (let round = 0; round < 20; round++) {
      for (const [at, { usage }] of processes.entries()) {
        const mine = at % 2 === 0 ? credentials : credentials.toReversed();
        for (const credential of mine)
          usage.record(use(credential, { isError: at === 0, operation: `op${round % 3}` }));
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(processes.map(({ usage }) => usage.close()));
    for (const credential of credentials) {
      expect(await totalsOf(credential)).toMatchObject({ requests: 80, errors: 20 });
      const sum = (await hoursOf(credential)).map((row) => row.requests);
      expect(sum.reduce((left, right) => left + right, 0)).toBe(80);
    }
  });

  it('that could not be written is written later, with what came meanwhile, once', async () => {
    const { state, usage } = createProcess();
    const [credential, other] = [newCredential(), newCredential()];
    usage.record(use(credential));
    usage.record(use(other));
    state.failing = 1;
    await usage.close();
    // The tenants are written one by one: the failure of one does not affect the next.
    expect([await totalsOf(credential), await totalsOf(other)]).toEqual([
      undefined,
      expect.objectContaining({ requests: 1 }),
    ]);
    state.now += hour;
    usage.record(use(credential, { ip: '2001:db8::1' }));
    await usage.close();
    expect(await totalsOf(credential)).toMatchObject({
      requests: 2,
      last_used_at: '2026-03-04T13:00:00.000Z',
      last_used_ip: '2001:db8::1',
    });
    expect((await hoursOf(credential)).map((row) => row.requests)).toEqual([1, 1]);
    const { writes } = state;
    await usage.close();
    expect(state.writes).toBe(writes);
  });

  it('that could not be written is not lost to what was recorded while it was tried', async () => {
    const { state, usage } = createProcess();
    const credential = newCredential();
    usage.record(use(credential));
    state.failing = 1;
    const closed = usage.close();
    state.now += hour;
    usage.record(use(credential));
    await closed;
    await usage.close();
    expect(await totalsOf(credential)).toMatchObject({ requests: 2, last_used_at: '2026-03-04T13:00:00.000Z' });
  });

  it('counts once when acknowledgements are lost, while 50 credentials are used in three processes', async () => {
    const tenantId = newId();
    const credentials = Array.from({ length: 50 }, () => ({ tenantId, credentialId: newId() }));
    const processes = [createProcess(), createProcess(), createProcess()];
    for (let round = 0; round < 3; round++) {
      for (const { usage, state } of processes) {
        state.losing = 1;
        for (const credential of credentials) usage.record(use(credential, { isError: round === 0 }));
      }
      // The first flush loses the acknowledgement, the second writes the batch again.
      await Promise.all(processes.map(({ usage }) => usage.close()));
      await Promise.all(processes.map(({ usage }) => usage.close()));
    }
    for (const { state } of processes) expect(state.writes).toBe(6);
    for (const credential of credentials) {
      expect(await totalsOf(credential)).toMatchObject({ requests: 9, errors: 3 });
      expect(await hoursOf(credential)).toMatchObject([{ requests: 9, errors: 3 }]);
    }
  });

  it('remembers no process that stopped more than a day ago', async () => {
    const credential = newCredential();
    const old = createProcess();
    old.usage.record(use(credential));
    await old.usage.close();
    const current = createProcess();
    current.state.now += 25 * hour;
    current.usage.record(use(credential));
    await current.usage.close();
    const { requests, batches } = await totalsOf(credential);
    expect({ requests, processes: Object.values(batches) }).toEqual({ requests: 2, processes: [noon + 25 * hour] });
  });

  it('of a process whose clock is behind does not bring an older last use', async () => {
    const credential = newCredential();
    const [ahead, behind] = [createProcess(), createProcess()];
    behind.state.now -= hour;
    ahead.usage.record(use(credential, { ip: '203.0.113.1' }));
    await ahead.usage.close();
    behind.usage.record(use(credential, { ip: '203.0.113.2' }));
    await behind.usage.close();
    expect(await totalsOf(credential)).toMatchObject({
      requests: 2,
      last_used_at: '2026-03-04T12:00:00.000Z',
      last_used_ip: '203.0.113.1',
    });
  });

  it('is summarised by operation, day and time passed', async () => {
    const { state, usage } = createProcess();
    const credential = newCredential();
    const day = 24 * hour;
    for (const [age, operation, isError] of [
      [50 * day, 'getSpace', false],
      [10 * day, 'getSpace', false],
      [2 * day, 'listSpaces', true],
      [0, 'listSpaces', true],
    ] as const) {
      state.now = noon - age;
      usage.record(use(credential, { operation, isError }));
    }
    await usage.close();
    const summary = await test.service.services.database
      .tenant(credential.tenantId)
      .first(usageOf(credential, new Date(noon)));
    expect(summary).toEqual({
      total_requests: 4,
      requests_24h: 1,
      requests_7d: 2,
      requests_30d: 3,
      errors_24h: 1,
      last_used_at: '2026-03-04T12:00:00.000Z',
      last_used_ip: '203.0.113.7',
      by_endpoint: [
        { operation: 'listSpaces', requests: 2, errors: 2 },
        { operation: 'getSpace', requests: 1, errors: 0 },
      ],
      by_day: [
        { day: '2026-02-22', requests: 1, errors: 0 },
        { day: '2026-03-02', requests: 1, errors: 1 },
        { day: '2026-03-04', requests: 1, errors: 1 },
      ],
    });
  });

  it('cannot be seen from another tenant', async () => {
    const { usage } = createProcess();
    const credential = newCredential();
    usage.record(use(credential));
    await usage.close();
    const { database } = test.service.services;
    const text = 'select count(*) from credential_totals where credential_id = $1';
    const query = { kind: 'read' as const, text, values: [credential.credentialId], prepare: false };
    expect(await database.tenant(newId()).first(query)).toEqual({ count: 0 });
    const seen = await withClient(test.connection, async (client) => (await client.query(text, query.values)).rows);
    expect(seen).toEqual([{ count: '1' }]);
  });
});
