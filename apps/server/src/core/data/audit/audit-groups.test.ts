import { describe, expect, it, onTestFinished } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createAuditGroups } from '#core/data/audit/audit-groups';
import { insertGroup, openChain } from '#core/data/audit/audit-groups.queries';
import { auditEvent, toAuditRow } from '#core/data/audit/audit.queries';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();
const at = '2026-11-22T07:00:00.123Z';
const event = { action: 'thing.seen', resourceType: 'thing' };

function createActor({ tenantId }: Tenant) {
  const request = { id: newId(), ip: '192.0.2.7', userAgent: 'test', receivedAt: 0 };
  return { tenantId, userId: null, request };
}

function rowsOf({ tenantId }: Tenant, action: string): Promise<any[]> {
  return test.service.services.database.tenant(tenantId).all({
    kind: 'read',
    text: 'select * from audit_logs where tenant_id = $1 and action = $2 order by chain_slot, chain_position',
    values: [tenantId, action],
    prepare: false,
  });
}

async function verify({ admin }: Tenant) {
  const answer = await test.call('GET', '/api/v1/secure/audit-logs/verify', { token: admin.token });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.data;
}

describe('auditGroups.record', () => {
  it('keeps the same row as an event of its own', async () => {
    const tenant = await createTenant(test);
    const who = createActor(tenant);
    const full = { ...event, resourceId: newId(), details: { note: 'ü "quoted"', count: 3 } };
    await test.service.services.auditGroups.record(who, at, full);
    await test.service.services.database.tenant(tenant.tenantId).interactive.all(auditEvent(who, at, full));
    const rows = await rowsOf(tenant, 'thing.seen');
    const [first, second] = rows.map((row) => ({
      ...row,
      id: 0,
      chain_slot: 0,
      chain_position: 0,
      chain_hash: undefined,
    }));
    expect(rows).toHaveLength(2);
    expect(first).toEqual(second);
    expect(await verify(tenant)).toMatchObject({ valid: true });
  });

  it('leaves no gap and no fork in any chain, however many of it and of others write at once', async () => {
    const tenant = await createTenant(test);
    const { auditGroups, database } = test.service.services;
    const single = { ...event, action: 'thing.alone' };
    const writing = Array.from({ length: 250 }, (_, n) =>
      n % 5 === 0
        ? database.tenant(tenant.tenantId).interactive.all(auditEvent(createActor(tenant), at, single))
        : auditGroups.record(createActor(tenant), at, event),
    );
    await Promise.all(writing);
    expect(await rowsOf(tenant, 'thing.seen')).toHaveLength(200);
    expect(await rowsOf(tenant, 'thing.alone')).toHaveLength(50);
    expect(await verify(tenant)).toMatchObject({ valid: true });
  });

  it('refuses a row that cannot be kept, and keeps those that came with it', async () => {
    const tenant = await createTenant(test);
    const { auditGroups } = test.service.services;
    const bad = auditGroups.record(createActor(tenant), 'no time', event);
    const good = [1, 2, 3].map(() => auditGroups.record(createActor(tenant), at, event));
    await expect(bad).rejects.toMatchObject({ code: '22007' });
    await Promise.all(good);
    expect(await rowsOf(tenant, 'thing.seen')).toHaveLength(3);
    expect(await verify(tenant)).toMatchObject({ valid: true });
  });

  it('mixes no tenants', async () => {
    const tenants = [await createTenant(test), await createTenant(test)];
    await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        test.service.services.auditGroups.record(createActor(tenants[n % 2]!), at, event),
      ),
    );
    for (const tenant of tenants) expect(await rowsOf(tenant, 'thing.seen')).toHaveLength(25);
  });
});

/** Groups of a process whose first statements fail as given. */
function groupsThatFail(failures: unknown[], options: { maxFollowing?: number } = {}) {
  const { database } = test.service.services;
  const failed: unknown[] = [];
  const groups = createAuditGroups({
    database: {
      tenant(tenantId) {
        const failure = failures.shift();
        if (failure === undefined) return database.tenant(tenantId);
        return { interactive: { all: () => Promise.reject(failure) } } as unknown as ReturnType<typeof database.tenant>;
      },
    },
    log: { error: (line: unknown) => void failed.push(line) },
    retryMs: 1,
    ...options,
  });
  onTestFinished(() => groups.close());
  return { groups, failed };
}

const unavailable = Object.assign(new Error('terminating connection'), { code: '57P01' });

describe('auditGroups.follow', () => {
  it('keeps what was taken, for readers who wait until it is settled and through a stop', async () => {
    const tenant = await createTenant(test);
    const { groups } = groupsThatFail([]);
    const follow = (n: number) => groups.follow(createActor(tenant), at, { ...event, details: { n } });
    for (let n = 0; n < 500; n++) await follow(n);
    await groups.settled(tenant.tenantId);
    expect(await rowsOf(tenant, 'thing.seen')).toHaveLength(500);
    for (let n = 0; n < 500; n++) await follow(n);
    await groups.close();
    expect(await rowsOf(tenant, 'thing.seen')).toHaveLength(1000);
    expect(await verify(tenant)).toMatchObject({ valid: true });
  });

  it('names every request of a crowd once, and mixes nothing that differs in more than its request', async () => {
    const tenant = await createTenant(test);
    const { groups } = groupsThatFail([]);
    const all = Array.from({ length: 300 }, (_, n) => ({
      who: createActor(tenant),
      event: { ...event, details: { outcome: n % 3 === 0 ? 'ok' : 'NOT_FOUND' } },
    }));
    for (const one of all) await groups.follow(one.who, at, one.event);
    await groups.close();
    const rows = await rowsOf(tenant, 'thing.seen');
    const named = rows.flatMap(({ details: { requestId, furtherRequestIds = [], outcome } }) =>
      [requestId, ...furtherRequestIds].map((id: string) => ({ id, outcome })),
    );
    const expected = all.map((one) => ({ id: one.who.request.id, outcome: one.event.details.outcome }));
    const byId = (left: { id: string }, right: { id: string }) => left.id.localeCompare(right.id);
    expect(named.toSorted(byId)).toEqual(expected.toSorted(byId));
    expect(rows.length).toBeLessThan(50);
    expect(await verify(tenant)).toMatchObject({ valid: true });
  });

  it('keeps a row for each of those who come one after the other', async () => {
    const tenant = await createTenant(test);
    const { groups } = groupsThatFail([]);
    for (let n = 0; n < 40; n++) {
      await groups.follow(createActor(tenant), at, event);
      await groups.settled(tenant.tenantId);
    }
    expect(await rowsOf(tenant, 'thing.seen')).toHaveLength(40);
  });

  it('writes again what the database did not take, and nothing twice that it took without a word', async () => {
    const tenant = await createTenant(test);
    const { groups, failed } = groupsThatFail([unavailable, unavailable]);
    await groups.follow(createActor(tenant), at, event);
    await expect.poll(() => rowsOf(tenant, 'thing.seen')).toHaveLength(1);
    const who = createActor(tenant);
    const twice = Object.assign(new Error('duplicate key'), { code: '23505', constraint: 'audit_logs_2026_11_pkey' });
    const { groups: others, failed: failedToo } = groupsThatFail([twice]);
    await others.follow(who, at, event);
    await others.close();
    expect([...failed, ...failedToo]).toEqual([]);
  });

  it('says what it cannot keep', async () => {
    const tenant = await createTenant(test);
    const { groups, failed } = groupsThatFail([]);
    await groups.follow(createActor(tenant), 'no time', event);
    await groups.follow(createActor(tenant), at, event);
    await groups.close();
    expect(failed).toMatchObject([{ err: { code: '22007' }, row: { action: 'thing.seen' } }]);
    expect(await rowsOf(tenant, 'thing.seen')).toHaveLength(1);
  });

  it('makes callers wait where too many wait already, and tells them', async () => {
    const tenant = await createTenant(test);
    const { groups } = groupsThatFail([undefined, unavailable], { maxFollowing: 1 });
    await groups.follow(createActor(tenant), at, event);
    await expect(groups.follow(createActor(tenant), at, event)).rejects.toBe(unavailable);
    await groups.settled(tenant.tenantId);
    expect(await rowsOf(tenant, 'thing.seen')).toHaveLength(1);
  });
});

describe('insertGroup', () => {
  it('leaves no gap and no fork where groups of several processes meet in one chain', async () => {
    const tenant = await createTenant(test);
    const { interactive } = test.service.services.database.tenant(tenant.tenantId);
    const chain = { tenantId: tenant.tenantId, slot: 7 };
    const row = () => toAuditRow(createActor(tenant), at, event);
    await interactive.all(openChain(chain));
    const [before] = await interactive.all(insertGroup({ ...chain, rows: JSON.stringify([row()]) }));
    const ends = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const [written] = await interactive.all(insertGroup({ ...chain, rows: JSON.stringify([row(), row(), row()]) }));
        return written!.length - before!.length;
      }),
    );
    expect(ends.toSorted((left, right) => left - right)).toEqual(Array.from({ length: 50 }, (_, n) => 3 * (n + 1)));
    expect(await rowsOf(tenant, 'thing.seen')).toHaveLength(151);
    expect(await verify(tenant)).toMatchObject({ valid: true });
  });

  it('writes nothing, and says so, while there is no chain to go on with', async () => {
    const tenant = await createTenant(test);
    const { interactive } = test.service.services.database.tenant(tenant.tenantId);
    const rows = JSON.stringify([toAuditRow(createActor(tenant), at, event)]);
    const free = await interactive.all<{ slot: number }>({
      kind: 'read',
      text: `select slot from generate_series(0, 31) as slots(slot)
             where not exists (select from audit_chains where tenant_id = $1 and audit_chains.slot = slots.slot)`,
      values: [tenant.tenantId],
      prepare: false,
    });
    const chain = { tenantId: tenant.tenantId, slot: free[0]!.slot };
    expect(await interactive.all(insertGroup({ ...chain, rows }))).toEqual([]);
    expect(await rowsOf(tenant, 'thing.seen')).toEqual([]);
  });
});
