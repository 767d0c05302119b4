import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { unusable } from '#modules/connectors/calls/failures';
import { createGreeter, greet as greetAt, status, type Greeter } from '#modules/connectors/calls/testing/providers';
import { InvalidConnectorConfig } from '#modules/connectors/connectors.errors';
import { path, storedConnector, systemTenantId } from '#modules/connectors/testing/connectors';
import { createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// Connectors of the installation serve all tenants, so these have a database of their own.
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
  test.logLines.length = 0;
});

const provide = (rest: Record<string, unknown> = {}, token = tenant.admin.token) => createGreeter(test, token, rest);
const greet = (rest: Partial<Parameters<typeof greetAt>[1]> = {}) =>
  greetAt(test, { tenantId: tenant.tenantId, ...rest });
const stored = ({ id }: { id: string }, tenantId = tenant.tenantId) => storedConnector(test, tenantId, id);
const asked = (...greeters: Greeter[]) => greeters.map(({ asked: requests }) => requests.length);
const times = async (count: number, work: () => Promise<unknown>) => {
  for (let at = 0; at < count; at += 1) await work();
};
const rows = (text: string, tenantId = tenant.tenantId) =>
  test.service.services.database
    .tenant(tenantId)
    .all<Record<string, any>>({ kind: 'read', text, values: [tenantId], prepare: false });

const failures = { status: 502, code: 'UPSTREAM_ERROR' };

describe('failover', () => {
  it('calls the first connector by priority and returns its name', async () => {
    const [last, first] = [await provide({ priority: 2 }), await provide({ priority: 1 })];
    const { result, provider } = await greet();
    expect([result, provider.key, provider.connectorId]).toEqual(['hello', first.key, first.id]);
    expect(asked(first, last)).toEqual([1, 0]);
  });

  it.each<[string, Parameters<Greeter['answer']>[0], string, string]>([
    ['500', status(500), 'degraded', 'answer'],
    ['404', status(404), 'degraded', 'answer'],
    ['a redirect', status(302, { location: '/' }), 'degraded', 'answer'],
    ['401', status(401), 'error', 'credentials'],
    ['403', status(403), 'error', 'credentials'],
    ['no answer', (response) => void response.socket?.destroy(), 'offline', 'unreachable'],
  ])('tries the next connector after %s, and logs the error', async (_what, answer, health, kind) => {
    const [first, second] = [await provide({ priority: 1 }), await provide()];
    first.answer(answer);
    expect((await greet()).provider.key).toBe(second.key);
    expect(await stored(first)).toMatchObject({ status: health, consecutive_failures: 1, error_details: { kind } });
    expect(await stored(second)).toMatchObject({ status: 'active', consecutive_failures: 0, error_message: null });
  });

  it('calls the next provider after unusable content, invalid JSON and invalid settings', async () => {
    const [first, second] = [await provide({ priority: 1 }), await provide()];
    const failWith = async (fail: () => unknown) => {
      const attempt: NonNullable<Parameters<typeof greet>[0]>['attempt'] = async ({ key }) => {
        if (key === first.key) throw fail();
        return { result: 'well' };
      };
      expect((await greet({ attempt })).provider.key).toBe(second.key);
      return (await stored(first))['error_details'];
    };
    const parse = () => {
      try {
        return JSON.parse('{');
      } catch (error) {
        return error;
      }
    };
    expect(await failWith(() => unusable('another shape'))).toEqual({ kind: 'content', httpStatus: null });
    expect(await failWith(parse)).toEqual({ kind: 'content', httpStatus: null });
    expect(await failWith(() => InvalidConnectorConfig())).toEqual({ kind: 'credentials', httpStatus: null });
  });

  it('does not count an internal error as a failure of the provider', async () => {
    const first = await provide({ priority: 1 });
    const attempt = () => Promise.reject(new TypeError('canary of a bug'));
    await expect(greet({ attempt })).rejects.toMatchObject(failures);
    expect(await stored(first)).toMatchObject({ status: 'unknown', consecutive_failures: 0 });
    expect(test.logLines.find((line) => line.includes('canary of a bug'))).toContain('"level":"error"');
  });

  it('skips a connector whose credentials cannot be decrypted', async () => {
    const [first, second] = [await provide({ priority: 1 }), await provide()];
    const { auth_config: sealed } = await stored(second);
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: 'update connectors set auth_config = $3 where tenant_id = $1 and id = $2',
      values: [tenant.tenantId, first.id, sealed],
      prepare: false,
    });
    expect((await greet()).provider.key).toBe(second.key);
    expect(asked(first)).toEqual([0]);
    expect(await stored(first)).toMatchObject({ status: 'error', error_details: { kind: 'credentials' } });
  });

  it('502: all connectors have failed; the answer contains nothing from the providers', async () => {
    const both = [await provide(), await provide()];
    for (const one of both) one.answer((response) => void response.writeHead(500).end('canary answer'));
    const error = await greet().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(failures);
    expect((error as Error).message).not.toMatch(/canary|127\.0\.0\.1/);
    expect(asked(...both)).toEqual([1, 1]);
    const { error_message: message } = await stored(both[0]!);
    expect(message).toBe('The provider answered with an error.');
  });

  it('503: no connector', async () => {
    await expect(greet()).rejects.toMatchObject({ status: 503, details: { code: 'NO_PROVIDER' } });
    await provide({ enabled: false });
    await expect(greet()).rejects.toMatchObject({ status: 503 });
  });

  it('tries the next connector after a timeout, and stops at the deadline of the call', async () => {
    const [first, second] = [await provide({ priority: 1 }), await provide()];
    first.answer(() => undefined);
    expect((await greet({ timeouts: { attemptMs: 1000, totalMs: 60_000 } })).provider.key).toBe(second.key);
    second.answer(() => undefined);
    await expect(greet({ timeouts: { attemptMs: 1000, totalMs: 1010 } })).rejects.toMatchObject(failures);
    expect(await stored(first)).toMatchObject({ status: 'offline', consecutive_failures: 2 });
    // It had hardly any time.
    expect(await stored(second)).toMatchObject({ consecutive_failures: 0 });
  });

  it('ends an attempt that ignores its abort signal', async () => {
    const first = await provide();
    const attempt = () => new Promise<never>(() => undefined);
    await expect(greet({ attempt, timeouts: { attemptMs: 50, totalMs: 5000 } })).rejects.toMatchObject(failures);
    expect(await stored(first)).toMatchObject({ status: 'offline' });
  });

  it('does not count a disconnected caller as a failure', async () => {
    const first = await provide();
    const leaving = new AbortController();
    const reason = new Error('left');
    first.answer(() => leaving.abort(reason));
    await expect(greet({ signal: leaving.signal })).rejects.toBe(reason);
    expect(await stored(first)).toMatchObject({ status: 'unknown', consecutive_failures: 0 });
  });
});

describe('the health of connectors', () => {
  it('pauses at the threshold for 20 s; then one caller probes, and a success ends the pause', async () => {
    const [first, second] = [await provide({ priority: 1 }), await provide()];
    first.answer(status(500));
    await times(4, greet);
    expect(await stored(first)).toMatchObject({ status: 'degraded', auto_disabled: false, consecutive_failures: 4 });
    await greet();
    expect(await stored(first)).toMatchObject({ status: 'error', auto_disabled: true, ejections: 1, enabled: true });
    first.heal();
    await times(3, greet);
    expect(asked(first, second)).toEqual([5, 8]);
    aheadMs = 21_000;
    // The probe waits for its answer until all other calls have theirs from another provider.
    const held: ServerResponse[] = [];
    first.answer((response) => void held.push(response));
    const served: string[] = [];
    const calls = Array.from({ length: 10 }, async () => void served.push((await greet()).provider.key));
    await vi.waitFor(() => expect([served.length, held.length]).toEqual([9, 1]), { timeout: 30_000 });
    expect(new Set(served)).toEqual(new Set([second.key]));
    held[0]!.end('hello');
    await Promise.all(calls);
    first.heal();
    expect([asked(first)[0], served.at(-1)]).toEqual([6, first.key]);
    expect(await stored(first)).toMatchObject({ status: 'active', auto_disabled: false, ejections: 0, retry_at: null });
    expect((await greet()).provider.key).toBe(first.key);
    const moves = await rows(
      `select from_status, to_status, severity, reason, message from connector_events
       where tenant_id = $1 and connector_id = '${first.id}' order by occurred_at, id`,
    );
    expect(moves).toMatchObject([
      { from_status: 'unknown', to_status: 'degraded', severity: 'warning' },
      { from_status: 'degraded', to_status: 'error', severity: 'error', reason: 'auto_disabled' },
      { from_status: 'error', to_status: 'active', severity: 'info', reason: 'recovered' },
    ]);
    expect(JSON.stringify(moves)).not.toContain('127.0.0.1');
  });

  it('lengthens the pause after each failed probe', async () => {
    const [first] = [await provide({ priority: 1 }), await provide()];
    first.answer(status(500));
    await times(5, greet);
    aheadMs = 21_000;
    await times(2, greet);
    expect(asked(first)).toEqual([6]);
    expect(await stored(first)).toMatchObject({ ejections: 2, consecutive_failures: 6 });
    aheadMs = 21_000 + 35_000;
    await greet();
    expect(asked(first)).toEqual([6]);
    aheadMs = 21_000 + 41_000;
    await greet();
    expect(asked(first)).toEqual([7]);
  });

  it('counts each of 50 concurrent failures', async () => {
    const only = await provide();
    only.answer(status(500));
    await Promise.all(Array.from({ length: 50 }, () => greet().catch(() => undefined)));
    const { consecutive_failures: failed, ejections } = await stored(only);
    expect([failed, ejections]).toEqual([asked(only)[0], 1]);
    expect(failed).toBeGreaterThanOrEqual(5);
  });

  it('respects Retry-After and does not count 429 as a failure', async () => {
    const [first, second] = [await provide({ priority: 1 }), await provide()];
    first.answer(status(429, { 'retry-after': '120' }));
    await times(3, greet);
    expect(asked(first, second)).toEqual([1, 3]);
    expect(await stored(first)).toMatchObject({ status: 'unknown', consecutive_failures: 0, auto_disabled: false });
    aheadMs = 121_000;
    first.heal();
    expect((await greet()).provider.key).toBe(first.key);
    expect(await stored(first)).toMatchObject({ status: 'active', retry_at: null });
  });

  it('is reset when an administrator enables the connector or changes its address', async () => {
    const first = await provide();
    const token = tenant.admin.token;
    first.answer(status(500));
    const fresh = { status: 'unknown', auto_disabled: false, consecutive_failures: 0, ejections: 0, retry_at: null };
    for (const reset of [
      () => test.call('POST', `${path}/${first.id}/enable`, { token }),
      () => test.call('PATCH', `${path}/${first.id}`, { token, body: { api_base_url: `${first.url}/v2` } }),
      () => test.call('PATCH', `${path}/${first.id}`, { token, body: { auth_config: { token: 'new' } } }),
    ]) {
      await times(5, () => greet().catch(() => undefined));
      expect(await stored(first)).toMatchObject({ auto_disabled: true });
      expect((await reset()).status).toBe(200);
      expect(await stored(first)).toMatchObject(fresh);
    }
  });

  it("of the installation's is recorded for every caller", async () => {
    const { token } = await logInSystemAdmin(test);
    const shared = await provide({}, token);
    shared.answer(status(500));
    await expect(greet()).rejects.toMatchObject(failures);
    expect(await stored(shared, systemTenantId)).toMatchObject({ status: 'degraded', consecutive_failures: 1 });
    expect(await rows('select 1 from connector_events where tenant_id = $1', tenant.tenantId)).toEqual([]);
    expect(await rows('select 1 from connector_events where tenant_id = $1', systemTenantId)).toHaveLength(1);
    await test.call('DELETE', `${path}/${shared.id}`, { token });
  });

  it('ignores results of calls that started before the address changed', async () => {
    const first = await provide();
    const token = tenant.admin.token;
    const move = () => test.call('PATCH', `${path}/${first.id}`, { token, body: { api_base_url: `${first.url}/v2` } });
    first.answer((response) => void move().then(() => response.writeHead(500).end()));
    await expect(greet()).rejects.toMatchObject(failures);
    expect(await stored(first)).toMatchObject({ status: 'unknown', consecutive_failures: 0 });
  });

  it('stores successes of a healthy connector only at intervals', async () => {
    const first = await provide();
    await greet();
    const { last_success: at } = await stored(first);
    await times(3, greet);
    expect((await stored(first))['last_success']).toBe(at);
    aheadMs = 11_000;
    await greet();
    expect(Date.parse((await stored(first))['last_success'])).toBeGreaterThan(Date.parse(at) + 10_000);
  });
});

describe('the log of calls', () => {
  const logged = async (tenantId = tenant.tenantId) => {
    await test.service.services.callLog.flush();
    return rows('select * from provider_calls where tenant_id = $1 order by latency_ms desc, id', tenantId);
  };

  it('has each attempt with actor and duration, and no content of requests or answers', async () => {
    const [first, second] = [await provide({ priority: 1 }), await provide()];
    first.answer(status(429));
    const caller = { userId: newId(), requestId: 'the request' };
    const attempt: NonNullable<Parameters<typeof greet>[0]>['attempt'] = async ({ baseUrl }, fetch) => ({
      result: await (await fetch(baseUrl)).text(),
      tokens: 7,
    });
    await greet({ caller, characters: 5, attempt });
    const both = {
      operation_key: 'geocoding.search',
      user_id: caller.userId,
      request_id: 'the request',
      characters: 5,
    };
    const failed = { outcome: 'rate_limited', failure: 'rate_limited', http_status: 429, tokens: null };
    const calls = await logged();
    expect(calls).toHaveLength(2);
    expect(calls).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...both, connector_id: first.id, ...failed }),
        expect.objectContaining({ ...both, provider: second.key, outcome: 'success', http_status: 200, tokens: 7 }),
      ]),
    );
    expect(JSON.stringify(calls)).not.toMatch(/hello|127\.0\.0\.1/);
  });

  it('belongs to the tenant, independent of the owner of the connector', async () => {
    const { token } = await logInSystemAdmin(test);
    const shared = await provide({}, token);
    const before = (await logged(systemTenantId)).length;
    await greet();
    expect(await logged()).toMatchObject([{ connector_id: shared.id }]);
    expect(await logged(systemTenantId)).toHaveLength(before);
    expect(await logged((await createTenant(test)).tenantId)).toEqual([]);
    await test.call('DELETE', `${path}/${shared.id}`, { token });
  });
});

describe('an open circuit', () => {
  it('skips a provider that also fails for other tenants if another connector remains', async () => {
    const [first, second] = [await provide({ priority: 1 }), await provide()];
    first.answer(status(500));
    // Its timeout is longer than that of the circuit.
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: 'update connectors set auto_disable_threshold = 100 where tenant_id = $1',
      values: [tenant.tenantId],
      prepare: false,
    });
    await times(8, greet);
    expect(asked(first, second)).toEqual([5, 8]);
    expect(await stored(first)).toMatchObject({ consecutive_failures: 5, auto_disabled: false });
    second.answer(status(500));
    await test.call('POST', `${path}/${second.id}/disable`, { token: tenant.admin.token });
    first.heal();
    expect((await greet()).provider.key).toBe(first.key);
    await test.call('POST', `${path}/${second.id}/enable`, { token: tenant.admin.token });
    expect((await greet()).provider.key).toBe(first.key);
  });
});
