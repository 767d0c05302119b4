import { createServer, type ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { listen } from '#core/platform/outbound/testing/outside';
import { createGreeter, greet as greetAt, status } from '#modules/connectors/calls/testing/providers';
import { checkQuietConnectors } from '#modules/connectors/health/checks.service';
import { override } from '#modules/connectors/overrides/testing/overrides';
import { storedConnector } from '#modules/connectors/testing/connectors';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

let aheadMs = 0;
const test = useService({
  ownDatabase: true,
  environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' },
  now: () => new Date(Date.now() + aheadMs),
});
let tenant: Tenant;

beforeEach(async () => {
  aheadMs = 0;
  tenant = await createTenant(test);
});

const provide = (rest: Record<string, unknown> = {}) => createGreeter(test, tenant.admin.token, rest);
const greet = (rest: Partial<Parameters<typeof greetAt>[1]> = {}) =>
  greetAt(test, { tenantId: tenant.tenantId, ...rest });
const stored = ({ id }: { id: string }) => storedConnector(test, tenant.tenantId, id);
const rows = (text: string) =>
  test.service.services.database
    .tenant(tenant.tenantId)
    .all<Record<string, any>>({ kind: 'read', text, values: [tenant.tenantId], prepare: false });
const logged = async () => {
  await test.service.services.callLog.flush();
  return rows('select failure, outcome from provider_calls where tenant_id = $1');
};

/** All permits for calls are held until the test ends them. */
async function takeAllPlaces() {
  let asked = 0;
  const silence = async () => `http://127.0.0.1:${await listen(createServer(() => void (asked += 1)))}`;
  const [first, second] = [await silence(), await silence()];
  const leaving = new AbortController();
  const calls = Array.from({ length: 50 }, (_, at) =>
    test.service.services.outbound
      .fetch(at % 2 === 0 ? first : second, { signal: leaving.signal })
      .catch(() => undefined),
  );
  await vi.waitFor(() => expect(asked).toBe(50), { timeout: 30_000 });
  return async () => {
    leaving.abort();
    await Promise.all(calls);
  };
}

describe('no failure is counted', () => {
  it('while calls wait for a permit of our own', async () => {
    const [healthy, untouched] = [await provide(), await provide({ priority: 99, enabled: false })];
    const leave = await takeAllPlaces();
    const timeouts = { attemptMs: 30, totalMs: 70 };
    for (let at = 0; at < 6; at += 1) await expect(greet({ timeouts })).rejects.toMatchObject({ status: 502 });
    const { auto_disabled: isOff, status: health, consecutive_failures: count } = await stored(healthy);
    expect([isOff, health, count]).toEqual([false, 'unknown', 0]);
    expect(await logged()).toEqual([]);
    await leave();
    expect((await greet()).provider.key).toBe(healthy.key);
    expect(healthy.asked).toHaveLength(1);
    expect(untouched.asked).toEqual([]);
  });

  it('while a health check waits for a permit of our own', async () => {
    const one = await provide();
    aheadMs = 61_000;
    const leave = await takeAllPlaces();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let isOver = false;
    const run = checkQuietConnectors(test.service.services, { signal: new AbortController().signal, jitterMs: 0 });
    void run.then(() => (isOver = true));
    while (!isOver) await vi.advanceTimersByTimeAsync(1000);
    vi.useRealTimers();
    expect(await stored(one)).toMatchObject({ status: 'unknown', consecutive_failures: 0 });
    await leave();
  });
});

describe('a caller that disconnects', () => {
  const left = async () => {
    const one = await provide();
    const leaving = new AbortController();
    one.answer(() => leaving.abort(new Error('left')));
    await expect(greet({ signal: leaving.signal, characters: 50 })).rejects.toThrow('left');
    return one;
  };
  const used = async () =>
    (await rows('select unit, used from operation_quota where tenant_id = $1 order by unit')).map(({ used: so }) => so);

  it('is still charged for a provider call that was made', async () => {
    await override(test, tenant.tenantId, { quotaLimits: { requests_per_day: 1, characters_per_day: 100 } });
    const one = await left();
    expect(await used()).toEqual([50, 1]);
    one.heal();
    await expect(greet()).rejects.toMatchObject({ status: 429 });
  });

  it('is recorded in the call log', async () => {
    await left();
    expect(await logged()).toEqual([{ failure: 'cancelled', outcome: 'failure' }]);
  });

  it('is charged nothing if no provider was called or all failed', async () => {
    await override(test, tenant.tenantId, { quotaLimits: { requests_per_day: 10 } });
    const one = await provide();
    await expect(greet({ signal: AbortSignal.abort(new Error('left')) })).rejects.toThrow('left');
    one.answer(status(500));
    await expect(greet()).rejects.toMatchObject({ status: 502 });
    expect(await used()).toEqual([0]);
    expect(await logged()).toMatchObject([{ failure: 'answer' }]);
  });

  it('is still charged after a timeout', async () => {
    await override(test, tenant.tenantId, { quotaLimits: { requests_per_day: 10 } });
    (await provide()).answer(() => undefined);
    await expect(greet({ timeouts: { attemptMs: 1000, totalMs: 1010 } })).rejects.toMatchObject({ status: 502 });
    expect(await used()).toEqual([1]);
  });
});

describe('failures that are not consecutive', () => {
  const held = async () => {
    const one = await provide();
    await greet();
    const answers: ServerResponse[] = [];
    one.answer((response) => void answers.push(response));
    const calls = Array.from({ length: 10 }, () => greet().catch(() => undefined));
    await vi.waitFor(() => expect(answers).toHaveLength(10), { timeout: 30_000 });
    return { one, answers, calls };
  };

  it('do not pause the connector, however the calls overlap', async () => {
    const { one, answers, calls } = await held();
    let settled = 0;
    for (const call of calls) void call.then(() => (settled += 1));
    for (const [at, response] of answers.entries()) {
      response.writeHead(at % 2 === 0 ? 500 : 200).end('hello');
      await vi.waitFor(() => expect(settled).toBe(at + 1), { timeout: 30_000 });
    }
    expect(await stored(one)).toMatchObject({ status: 'active', consecutive_failures: 0, auto_disabled: false });
  });

  it('are distinguished from consecutive ones', async () => {
    const { one, answers, calls } = await held();
    for (const response of answers) response.writeHead(500).end();
    await Promise.all(calls);
    expect(await stored(one)).toMatchObject({ auto_disabled: true });
  });

  it('are cleared by a success after a failure that another process stored', async () => {
    const { one, answers, calls } = await held();
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `update connectors set status = 'degraded', consecutive_failures = 4, last_success = now() - interval '11 seconds'
             where tenant_id = $1 and id = $2`,
      values: [tenant.tenantId, one.id],
      prepare: false,
    });
    aheadMs = 11_000;
    for (const response of answers) response.end('hello');
    await Promise.all(calls);
    expect(await stored(one)).toMatchObject({ status: 'active', consecutive_failures: 0 });
  });
});

describe('the circuit of own credentials', () => {
  it('is not closed by successes with other credentials', async () => {
    const one = await provide();
    await override(test, tenant.tenantId, { credentials: { [one.key]: { token: 'wrong' } } });
    one.answer((response, request) =>
      response.writeHead(request.headers.authorization === 'wrong' ? 500 : 200).end('hello'),
    );
    const others = () =>
      test.service.services.database.tenant(tenant.tenantId).interactive.all({
        kind: 'write',
        text: 'update connectors set last_success = now() where tenant_id = $1 and id = $2',
        values: [tenant.tenantId, one.id],
        prepare: false,
      });
    for (let at = 0; at < 8; at += 1) {
      await expect(greet()).rejects.toMatchObject({ status: 502 });
      await others();
    }
    expect(one.asked).toHaveLength(5);
  });
});
