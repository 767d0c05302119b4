import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { Service } from '#app/service';
import { newId } from '#core/base/crypto/ids';
import type { Services } from '#core/platform/services';
import { path, systemTenantId } from '#modules/connectors/testing/connectors';
import { readCatalog, renewSystemCatalog } from '#modules/models/catalog.service';
import { entry, provideModels, provideSystemModels, url, type Hub } from '#modules/models/testing/catalogs';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { startService, useService, patientTiming } from '#test/support/harness';

// Connectors of the installation serve all tenants, so these have a database of their own.
const environment = { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' };
const test = useService({ ownDatabase: true, environment });
const day = 86_400_000;
const start = Date.parse('2026-06-01T00:00:00Z');
let tenant: Tenant;
let clock: number;
let other: Service;

beforeAll(async () => {
  other = await startService({ connection: test.connection, databaseTiming: patientTiming, environment });
});
afterAll(() => other.close());
beforeEach(async () => {
  tenant = await createTenant(test);
  clock = start;
});

const caller = { userId: null, requestId: null };
const at = (services: Services): Services => ({ ...services, now: () => new Date(clock) });
const read = (services = test.service.services, tenantId = tenant.tenantId) =>
  readCatalog(at(services), { tenantId, task: 'text', caller });
const idsRead = async (tenantId = tenant.tenantId) =>
  (await read(test.service.services, tenantId)).models.map(({ id }) => id);
const row = (tenantId = tenant.tenantId) =>
  test.service.services.database.tenant(tenantId).interactive.first<Record<string, any>>({
    kind: 'read',
    text: `select fetched_at, lease_until, retry_at, failures, models is null as is_empty from model_catalogs where tenant_id = $1`,
    values: [tenantId],
    prepare: false,
  });
/** Waits for this number of provider calls and for the end of the last refresh. */
async function expectSettled(hub: Hub, times: number): Promise<void> {
  const wait = { interval: 10, timeout: 10_000 };
  await expect.poll(() => hub.asked.length, wait).toBe(times);
  await expect.poll(async () => (await row())?.lease_until, wait).toBeNull();
}
const provide = () => provideModels(test, tenant.admin.token);

describe('a stored list', () => {
  it('is returned for a day without a provider call', async () => {
    const hub = await provide();
    await read();
    clock = start + day - 1;
    await read();
    expect(hub.asked).toHaveLength(1);
    expect(await row()).toMatchObject({ failures: 0, lease_until: null });
  });

  it('is parsed once until it changes', async () => {
    const hub = await provide();
    await read();
    const first = await read();
    expect((await read()).models).toBe(first.models);
    const elsewhere = await read(other.services);
    expect(elsewhere.models).toEqual(first.models);
    hub.list([entry('renewed')]);
    clock = start + day;
    await read();
    await expectSettled(hub, 2);
    expect(await idsRead()).toEqual(['renewed']);
    expect((await read(other.services)).models.map(({ id }) => id)).toEqual(['renewed']);
  });

  it('is returned at once when it is stale, while the provider is called', async () => {
    const hub = await provide();
    hub.list([entry('old')]);
    await read();
    let finish: (() => void) | undefined;
    hub.misbehave((response) => {
      finish = () => response.writeHead(200).end(JSON.stringify({ data: [entry('new')] }));
    });
    clock = start + day;
    expect([await idsRead(), await idsRead()]).toEqual([['old'], ['old']]);
    await expect.poll(() => finish, { interval: 5 }).toBeDefined();
    expect(hub.asked).toHaveLength(2);
    finish!();
    await expectSettled(hub, 2);
    // What the provider dropped is gone.
    expect(await idsRead()).toEqual(['new']);
    expect((await read()).fetched_at).toBe(new Date(start + day).toISOString());
    expect(hub.asked).toHaveLength(2);
  });

  it('is kept if the new list is empty, until several empty lists in a row', async () => {
    const hub = await provide();
    hub.list([entry('old')]);
    await read();
    hub.list([]);
    clock = start + day;
    for (let times = 1; times <= 3; times += 1) {
      expect(await idsRead()).toEqual(['old']);
      await expectSettled(hub, 1 + times);
      expect(await row()).toMatchObject({ failures: times, fetched_at: new Date(start).toISOString() });
      clock += day;
    }
    await idsRead();
    await expectSettled(hub, 5);
    expect(await idsRead()).toEqual([]);
  });

  it('is awaited until the caller disconnects, and then serves the next caller', async () => {
    const hub = await provide();
    let finish: (() => void) | undefined;
    hub.misbehave((response) => {
      finish = () => response.writeHead(200).end(JSON.stringify({ data: [entry('new')] }));
    });
    const leaving = new AbortController();
    const left = new Error('disconnected');
    const wanted = { tenantId: tenant.tenantId, task: 'text' as const, caller };
    const abandoned = readCatalog(at(test.service.services), { ...wanted, signal: leaving.signal });
    await expect.poll(() => finish, { interval: 5 }).toBeDefined();
    leaving.abort(left);
    await expect(abandoned).rejects.toBe(left);
    const late = readCatalog(at(other.services), { ...wanted, signal: AbortSignal.timeout(1) });
    await expect(late).rejects.toMatchObject({ status: 502 });
    finish!();
    expect(await idsRead()).toEqual(['new']);
    expect(hub.asked).toHaveLength(1);
  });

  it('is requested again at once if the failure was not caused by a provider', async () => {
    const hub = await provide();
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `insert into operation_overrides (tenant_id, id, operation_key, enabled, quota_limits, created_at, updated_at)
             values ($1, $2, 'models.list', true, '{"requests_per_month":1}', now(), now())`,
      values: [tenant.tenantId, newId()],
      prepare: false,
    });
    await read();
    clock = start + day;
    await read();
    await expectSettled(hub, 1);
    const told = (line: string) => line.includes('could not be refreshed') && line.includes(tenant.tenantId);
    await expect.poll(() => test.logLines.filter(told).length).toBe(1);
    expect(await row()).toMatchObject({ failures: 0, retry_at: null });
  });

  it('has its age in seconds', async () => {
    await provide();
    const { token } = await createMember(test, tenant, { permissions: ['integrations.read'] });
    const list = () => test.call('GET', url, { token });
    expect((await list()).headers.age).toBe('0');
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `update model_catalogs set fetched_at = now() - interval '5 hours' where tenant_id = $1`,
      values: [tenant.tenantId],
      prepare: false,
    });
    expect(Number((await list()).headers.age)).toBeGreaterThanOrEqual(18_000);
  });

  it.each([200, 400])(
    'stays when it cannot be renewed (%i), and the provider is left alone longer each time',
    async (status) => {
      const hub = await provide();
      await read();
      hub.say(() => ({ status, body: 'canary' }));
      const minute = 60_000;
      // Time of each read, and the number of provider calls until then.
      const asked: [number, number][] = [
        [day, 2],
        [day + minute - 1, 2],
        [day + minute, 3],
        [day + 3 * minute - 1, 3],
        [day + 3 * minute, 4],
      ];
      for (const [time, times] of asked) {
        clock = start + time;
        expect(await idsRead()).toHaveLength(3);
        await expectSettled(hub, times);
      }
      expect(await row()).toMatchObject({ failures: 3, fetched_at: new Date(start).toISOString() });
      expect(test.logLines.join('\n')).not.toContain('canary');
      hub.say(undefined);
      clock = start + day + 60 * minute;
      await read();
      await expectSettled(hub, 5);
      expect(await row()).toMatchObject({ failures: 0, retry_at: null, fetched_at: new Date(clock).toISOString() });
    },
  );
});

describe('a single process calls the provider', () => {
  const fifty = () =>
    Promise.all(Array.from({ length: 50 }, (_, one) => read(one % 2 === 0 ? test.service.services : other.services)));

  it('for 50 requests without a stored list, in two processes', async () => {
    const hub = await provide();
    const catalogs = await fifty();
    expect(hub.asked).toHaveLength(1);
    for (const { models } of catalogs) expect(models).toEqual(catalogs[0]!.models);
  });

  it('for 50 requests with a stale list', async () => {
    const hub = await provide();
    await read();
    clock = start + day;
    await fifty();
    await expectSettled(hub, 2);
  });

  it('at a time, and its failure reaches all requests', async () => {
    const hub = await provide();
    let underWay = 0;
    let max = 0;
    hub.misbehave((response) => {
      underWay += 1;
      max = Math.max(max, underWay);
      setImmediate(() => {
        underWay -= 1;
        response.end('canary');
      });
    });
    const answers = await Promise.allSettled([
      ...Array.from({ length: 25 }, () => read()),
      ...Array.from({ length: 25 }, () => read(other.services)),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ status: 'rejected', reason: { status: 502 } });
    expect(max).toBe(1);
    expect(await row()).toMatchObject({ is_empty: true, lease_until: null });
  });

  it('and another process does after the lease of the first has expired', async () => {
    const hub = await provide();
    await read();
    clock = start + day;
    const leaseFor = (ms: number) =>
      test.service.services.database.tenant(tenant.tenantId).interactive.all({
        kind: 'write',
        text: `update model_catalogs set lease_until = now() + $2 * interval '1 ms' where tenant_id = $1`,
        values: [tenant.tenantId, ms],
        prepare: false,
      });
    await leaseFor(30_000);
    await read();
    expect(hub.asked).toHaveLength(1);
    await leaseFor(-1);
    await read(other.services);
    await expectSettled(hub, 2);
  });
});

describe('the owner of a list', () => {
  it("the installation's serves every tenant, asked for once", async () => {
    const hub = await provideSystemModels(test);
    const second = await createTenant(test);
    expect((await idsRead()).length).toBe(3);
    expect((await idsRead(second.tenantId)).length).toBe(3);
    expect((await idsRead(systemTenantId)).length).toBe(3);
    expect(hub.asked).toHaveLength(1);
    expect(await row()).toBeUndefined();
  });

  it('only the tenant that owns a connector sees its models', async () => {
    (await provideSystemModels(test)).list([entry('shared')]);
    const own = await provide();
    own.list([entry('own')]);
    const stranger = await createTenant(test);
    expect(await idsRead()).toEqual(['own']);
    expect(await idsRead(stranger.tenantId)).toEqual(['shared']);
    expect(own.asked).toHaveLength(1);
  });

  it("is never the installation's in place of an own one that fails", async () => {
    const system = await provideSystemModels(test);
    const own = await provide();
    own.say(() => ({ status: 200, body: '' }));
    await expect(read()).rejects.toMatchObject({ status: 502 });
    expect(system.asked).toEqual([]);
  });

  it("is the installation's again while the tenant's connector is disabled, and once it is gone", async () => {
    (await provideSystemModels(test)).list([entry('shared')]);
    const own = await provide();
    own.list([entry('own')]);
    const change = (method: 'POST' | 'DELETE', rest = '') =>
      test.call(method, `${path}/${own.id}${rest}`, { token: tenant.admin.token });
    await read();
    await change('POST', '/disable');
    expect(await idsRead()).toEqual(['shared']);
    await change('POST', '/enable');
    expect(await idsRead()).toEqual(['own']);
    expect(own.asked).toHaveLength(1);
    await change('DELETE');
    expect(await idsRead()).toEqual(['shared']);
  });

  it('is unused after the address of its connector changes', async () => {
    const hub = await provide();
    await read();
    const elsewhere = await provideModels(test, (await createTenant(test)).admin.token);
    elsewhere.list([entry('elsewhere')]);
    const body = { api_base_url: `${elsewhere.origin}/v2`, auth_config: null };
    await test.call('PATCH', `${path}/${hub.id}`, { token: tenant.admin.token, body });
    expect(await idsRead()).toEqual(['elsewhere']);
  });

  it('is refused only for the tenant that has disabled the operation', async () => {
    const hub = await provideSystemModels(test);
    await read();
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `insert into operation_overrides (tenant_id, id, operation_key, enabled, created_at, updated_at)
             values ($1, $2, 'models.list', false, now(), now())`,
      values: [tenant.tenantId, newId()],
      prepare: false,
    });
    await expect(read()).rejects.toMatchObject({ status: 403, details: { code: 'OPERATION_DISABLED' } });
    expect(await idsRead((await createTenant(test)).tenantId)).toHaveLength(3);
    expect(hub.asked).toHaveLength(1);
  });

  it('is refused without a connector', async () => {
    await expect(read()).rejects.toMatchObject({ status: 503, details: { code: 'NO_PROVIDER' } });
    expect(await row()).toBeUndefined();
  });
});

describe('the job', () => {
  const run = async () => {
    const { signal } = new AbortController();
    return renewSystemCatalog(at(test.service.services), 'text', signal);
  };

  it('refreshes the list of the installation before it is stale', async () => {
    const hub = await provideSystemModels(test);
    expect(await run()).toBe('renewed');
    hub.list([entry('new')]);
    clock = start + 22 * 60 * 60_000 - 1;
    expect(await run()).toBe('new enough');
    clock += 1;
    expect(await run()).toBe('renewed');
    expect(await idsRead()).toEqual(['new']);
    expect(hub.asked).toHaveLength(2);
  });

  it('refreshes the lists of both tasks', async () => {
    const hub = await provideSystemModels(test);
    const job = test.service.services.dispatcher.jobs.find(({ name }) => name === 'models-renewal')!;
    expect(await job.run(new AbortController().signal)).toEqual({ text: 'renewed', image: 'renewed' });
    const tasks = hub.asked.map(({ url: asked }) => asked.searchParams.get('output_modalities'));
    expect(tasks).toEqual(['text', 'image']);
  });

  it('does nothing if the installation has no connector', async () => {
    expect(await run()).toBe('no connector');
  });

  it('fails if the provider fails, and keeps the stored list', async () => {
    const hub = await provideSystemModels(test);
    hub.list([entry('kept')]);
    await run();
    hub.say(() => ({ status: 200, body: 'canary' }));
    clock = start + day;
    await expect(run()).rejects.toMatchObject({ status: 502 });
    expect(await idsRead()).toEqual(['kept']);
  });
});

it('calls to the connector of the installation are logged without the request and user that caused them', async () => {
  await provideSystemModels(test);
  test.logLines.length = 0;
  const requestId = newId();
  await readCatalog(at(test.service.services), {
    tenantId: tenant.tenantId,
    task: 'text',
    caller: { userId: tenant.admin.userId, requestId },
  });
  expect(test.logLines.join('\n')).not.toMatch(new RegExp(`${requestId}|${tenant.admin.userId}`));
});
