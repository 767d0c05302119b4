import { beforeEach, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createGreeter, greet, status } from '#modules/connectors/calls/testing/providers';
import { checkQuietConnectors } from '#modules/connectors/health/checks.service';
import { listQuietConnectors } from '#modules/connectors/health/health.queries';
import { createConnector, path, storedConnector } from '#modules/connectors/testing/connectors';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

// Checks go over all tenants, so these have a database of their own.
let aheadMs = 0;
const test = useService({
  ownDatabase: true,
  environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' },
  now: () => new Date(Date.now() + aheadMs),
});
let tenant: Tenant;
let token: string;

beforeEach(async () => {
  aheadMs = 0;
  tenant = await createTenant(test);
  token = tenant.admin.token;
});

const provide = (rest: Record<string, unknown> = {}) => createGreeter(test, token, rest);
const stored = ({ id }: { id: string }) => storedConnector(test, tenant.tenantId, id);
const run = () => checkQuietConnectors(test.service.services, { signal: new AbortController().signal, jitterMs: 0 });
const callAt = () => greet(test, { tenantId: tenant.tenantId }).catch(() => undefined);

describe('health checks of connectors', () => {
  it('call only connectors without a call in the last minute, of all tenants', async () => {
    const [quiet, disabled] = [await provide(), await provide({ enabled: false })];
    const other = await createGreeter(test, (await createTenant(test)).admin.token);
    await run();
    expect([quiet.asked.length, other.asked.length, disabled.asked.length]).toEqual([1, 1, 0]);
    expect(await stored(quiet)).toMatchObject({
      status: 'active',
      last_health_check: expect.any(String),
      last_latency_ms: expect.any(Number),
    });
    await run();
    expect(quiet.asked).toHaveLength(1);
    aheadMs = 61_000;
    await callAt();
    const heard = quiet.asked.length;
    await run();
    expect(quiet.asked).toHaveLength(heard);
  });

  it('send no credentials to a connector without a known adapter', async () => {
    const one = await provide();
    await run();
    expect(one.asked).toEqual([undefined]);
  });

  it.each([404, 405, 501, 401, 302])('treat %i as a reachable provider', async (code) => {
    const one = await provide();
    one.answer(status(code));
    await run();
    expect(await stored(one)).toMatchObject({ status: 'active', consecutive_failures: 0 });
  });

  it.each<[string, (one: Awaited<ReturnType<typeof provide>>) => void, string, string]>([
    ['500', (one) => one.answer(status(500)), 'degraded', 'answer'],
    ['no answer', (one) => one.answer((response) => void response.socket?.destroy()), 'offline', 'unreachable'],
  ])('treat %s as a failure', async (_what, break_, health, kind) => {
    const one = await provide();
    break_(one);
    await run();
    expect(await stored(one)).toMatchObject({ status: health, consecutive_failures: 1, error_details: { kind } });
  });

  it('use the request of the adapter, with credentials', async () => {
    const config = { adapter: 'deepl' };
    const one = await provide({
      config,
      auth_config: { auth_key: 'canary:fx', api_key: 'canary:fx', token: 'canary' },
    });
    one.answer((response, request) =>
      response.writeHead(request.headers.authorization?.includes('canary') ? 403 : 200).end(),
    );
    await run();
    expect(await stored(one)).toMatchObject({ status: 'error', error_details: { kind: 'credentials' } });
    one.answer(status(200));
    aheadMs = 61_000;
    await run();
    expect(await stored(one)).toMatchObject({ status: 'active', consecutive_failures: 0 });
  });

  it('detect that a paused connector has recovered', async () => {
    const one = await provide();
    one.answer((response) => void response.socket?.destroy());
    for (let at = 0; at < 5; at += 1) await callAt();
    expect(await stored(one)).toMatchObject({ auto_disabled: true });
    one.heal();
    aheadMs = 19_000;
    await run();
    expect(await stored(one)).toMatchObject({ auto_disabled: true });
    aheadMs = 61_000;
    await run();
    expect(await stored(one)).toMatchObject({ status: 'active', auto_disabled: false, ejections: 0 });
  });

  it('do not clear refused credentials only because the provider is reachable', async () => {
    const one = await provide();
    one.answer(status(401));
    for (let at = 0; at < 5; at += 1) await callAt();
    one.heal();
    aheadMs = 61_000;
    await run();
    expect(await stored(one)).toMatchObject({ status: 'error', auto_disabled: true });
    await callAt();
    expect(await stored(one)).toMatchObject({ status: 'active', auto_disabled: false });
  });

  it('are not blocked by a paused connector that a check cannot clear', async () => {
    const one = await provide();
    one.answer(status(401));
    for (let at = 0; at < 5; at += 1) await callAt();
    aheadMs = 61_000;
    const asked = one.asked.length;
    await run();
    expect(one.asked).toHaveLength(asked);
    const { last_health_check: at } = await stored(one);
    expect(Date.parse(at)).toBeGreaterThan(Date.now() + 30_000);
  });

  it('start with the connectors of each tenant that were checked longest ago, at most twenty of each', async () => {
    const other = await createTenant(test);
    const order: string[] = [];
    const many = await Promise.all(Array.from({ length: 22 }, () => provide()));
    const lone = await createGreeter(test, other.admin.token);
    for (const one of many) one.answer((response) => void (order.push('many'), response.end()));
    lone.answer((response) => void (order.push('lone'), response.end()));
    const since = { now: new Date().toISOString(), since: new Date().toISOString(), perTenant: 20, limit: 1000 };
    const found = await test.service.services.database.platform().interactive.all(listQuietConnectors(since));
    const rows = found.filter(({ tenant_id: of }) => [tenant.tenantId, other.tenantId].includes(of));
    expect(rows).toHaveLength(21);
    expect(rows.slice(0, 2).map(({ id }) => id)).toContain(lone.id);
    await run();
    expect(order).toHaveLength(21);
    await run();
    expect(order).toHaveLength(23);
  });

  it('start no further check after the deadline', async () => {
    const one = await provide();
    const signal = new AbortController().signal;
    const { checked } = await checkQuietConnectors(test.service.services, { signal, jitterMs: 0, runMs: 0 });
    expect([checked, one.asked.length]).toEqual([0, 0]);
  });

  it('are a job that runs each minute and reports the number of checks', async () => {
    const [good, bad] = [await provide(), await provide()];
    bad.answer(status(500));
    aheadMs = 61_000;
    const job = test.service.services.dispatcher.jobs.find(({ name }) => name === 'connectors-check')!;
    expect(job.schedule).toBe('* * * * *');
    const { checked, failed } = (await job.run(new AbortController().signal)) as Record<'checked' | 'failed', number>;
    expect([good.asked.length, bad.asked.length]).toEqual([1, 1]);
    expect(checked).toBeGreaterThanOrEqual(2);
    expect(failed).toBeGreaterThanOrEqual(1);
  });

  it('are logged for the tenant that owns the connector', async () => {
    const one = await provide();
    one.answer(status(500));
    await run();
    await test.service.services.callLog.flush();
    const calls = await test.service.services.database.tenant(tenant.tenantId).all<Record<string, any>>({
      kind: 'read',
      text: 'select operation_key, provider, outcome, failure, http_status, user_id from provider_calls where tenant_id = $1',
      values: [tenant.tenantId],
      prepare: false,
    });
    expect(calls).toEqual([
      {
        operation_key: 'connectors.check',
        provider: one.key,
        outcome: 'failure',
        failure: 'answer',
        http_status: 500,
        user_id: null,
      },
    ]);
  });

  it('continue after a connector that cannot be checked', async () => {
    const [broken, good] = [await provide(), await provide()];
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `update connectors set api_base_url = 'no address' where tenant_id = $1 and id = $2`,
      values: [tenant.tenantId, broken.id],
      prepare: false,
    });
    aheadMs = 61_000;
    await run();
    expect(await stored(good)).toMatchObject({ status: 'active' });
    expect(await stored(broken)).toMatchObject({ status: 'offline' });
  });

  it('stop with their job', async () => {
    const one = await provide();
    const stopping = new AbortController();
    one.answer(() => stopping.abort(new Error('stop')));
    const checks = checkQuietConnectors(test.service.services, { signal: stopping.signal, jitterMs: 0 });
    await expect(checks).rejects.toThrow('stop');
    expect(await stored(one)).toMatchObject({ status: 'unknown', consecutive_failures: 0 });
  });
});

describe('testConnector', () => {
  const send = (id: string, by?: string) => test.call('POST', `${path}/${id}/test`, { token: by });

  it('200: returns the health, also of a disabled connector, and is logged', async () => {
    const one = await provide({ enabled: false });
    const answer = await send(one.id, token);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      data: { ok: true, status: 'active', latency_ms: expect.any(Number), error_message: null },
    });
    const trail = await test.call('GET', '/api/v1/secure/audit-logs?action=provider.tested', { token });
    expect(trail.body.data).toMatchObject([{ resource_id: one.id, details: { ok: true } }]);
  });

  it.each([
    ['500', status(500), 'degraded', 'The provider answered with an error.'],
    ['no answer', (response: any) => response.socket.destroy(), 'offline', 'The provider gave no usable answer.'],
  ])('200: %s, without the address', async (_what, how, health, message) => {
    const one = await provide();
    one.answer(how);
    const answer = await send(one.id, token);
    expect(answer.body.data).toEqual({
      ok: false,
      status: health,
      latency_ms: expect.any(Number),
      error_message: message,
    });
  });

  it('400, 401, 403 and 404', async () => {
    const one = await provide();
    const { id } = one;
    const reader = await createMember(test, tenant, { permissions: ['providers.read'] });
    expectError(await send('42', token), 400, 'VALIDATION_ERROR');
    expectError(await send(id), 401, 'AUTHENTICATION_ERROR');
    expectError(await send(id, reader.token), 403, 'AUTHORIZATION_ERROR');
    expectError(await send(newId(), token), 404, 'NOT_FOUND');
    expectError(await send(id, (await createTenant(test)).admin.token), 404, 'NOT_FOUND');
    expect(one.asked).toEqual([]);
  });

  it('429: the eleventh test in a minute of all connectors of the tenant, without a call', async () => {
    const [one, another] = [await provide(), await provide()];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => send((at % 2 === 0 ? one : another).id, token)),
    );
    const refused = answers.filter((answer) => answer.status !== 200);
    expect([refused.length, one.asked.length + another.asked.length]).toEqual([40, 10]);
    for (const answer of refused) {
      expectError(answer, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_TESTS');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
  });

  it('does not reveal which hosts and ports are open', async () => {
    const told = async (api_base_url: string) => {
      const { id } = await createConnector(test, token, { api_base_url });
      const { body } = await send(id, token);
      return { ...body.data, latency_ms: 0 };
    };
    const closed = {
      ok: false,
      status: 'offline',
      latency_ms: 0,
      error_message: 'The provider gave no usable answer.',
    };
    // A blocked address, a name that does not resolve, and a closed port.
    for (const url of ['http://localhost:8099', 'http://unknown.invalid', 'http://127.0.0.1:1024'])
      expect(await told(url)).toEqual(closed);
  });
});
