import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { connectorAt, startProvider, type Provider } from '#modules/connectors/messaging/adapters/testing/provider';
import { webhookFake } from '#modules/connectors/messaging/adapters/webhook/testing/fake';
import { findMessageRoute, sendMessage } from '#modules/connectors/messaging/messaging.service';
import {
  createConnector,
  markFailed,
  path,
  storedConnector,
  systemTenantId,
} from '#modules/connectors/testing/connectors';
import { createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// Connectors of the installation serve all tenants, so these have a database of their own.
const test = useService({ ownDatabase: true, environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
let tenant: Tenant;

beforeEach(async () => {
  tenant = await createTenant(test);
  test.logLines.length = 0;
});

const message = (channel: 'sms' | 'chatapp' = 'sms') => ({
  tenantId: tenant.tenantId,
  channel,
  to: '+4915112345678',
  text: 'Your code is 424242.',
});
const send = (channel?: 'sms' | 'chatapp', timeouts?: { attemptMs: number; totalMs: number }) =>
  sendMessage(test.service.services, message(channel), timeouts);
const canSend = async (channel: 'sms' | 'chatapp') =>
  (await findMessageRoute(test.service.services, { tenantId: tenant.tenantId, channel })) !== undefined;

async function provide(
  rest: Record<string, unknown> = {},
  by = tenant.admin.token,
): Promise<Provider & { id: string }> {
  const provider = await startProvider(webhookFake);
  const { id } = await createConnector(test, by, connectorAt(webhookFake, provider, rest));
  return { ...provider, id };
}

/** A provider of the installation, for one test. */
async function provideSystem(rest: Record<string, unknown> = {}) {
  const { token } = await logInSystemAdmin(test);
  const provider = await provide(rest, token);
  const remove = () => test.call('DELETE', `${path}/${provider.id}`, { token });
  onTestFinished(async () => {
    await remove();
  });
  return { ...provider, remove };
}

const counts = (...providers: Provider[]) => providers.map(({ taken }) => taken.length);
const failing = (provider: Provider) => provider.fail('error');

describe('sendMessage', () => {
  it('uses the connector with the highest priority, and of equal ones the oldest', async () => {
    const providers = [
      await provide({ priority: 20 }),
      await provide({ priority: 10 }),
      await provide({ priority: 10 }),
    ];
    await send();
    expect(counts(...providers)).toEqual([0, 1, 0]);
  });

  it('tries each connector until one accepts the message, and logs the failures', async () => {
    const [first, second, third] = [await provide({ priority: 1 }), await provide({ priority: 2 }), await provide()];
    failing(first);
    second.fail('cut');
    await send();
    expect(counts(first, second, third)).toEqual([0, 0, 1]);
    const lines = test.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg?.includes('a provider failed'));
    expect(lines).toMatchObject([
      {
        level: 'warn',
        connectorId: first.id,
        tenantId: tenant.tenantId,
        operation: 'messaging.sms',
        failure: 'answer',
      },
      {
        level: 'warn',
        connectorId: second.id,
        failure: 'unreachable',
        err: { type: 'ProviderFailure', message: expect.stringContaining('closed') },
      },
    ]);
    expect(test.logLines.join('\n')).not.toMatch(/424242|15112345678|canary/);
  });

  it('422: a connector that was deleted gets no further message', async () => {
    const provider = await provide();
    await send();
    await test.call('DELETE', `${path}/${provider.id}`, { token: tenant.admin.token });
    await expect(send()).rejects.toMatchObject({ status: 422, details: { code: 'NO_DELIVERY_CHANNEL' } });
    expect(counts(provider)).toEqual([1]);
  });

  it('never sends through providers of another tenant', async () => {
    const provider = await provide();
    const other = await createTenant(test);
    await sendMessage(test.service.services, message());
    await expect(sendMessage(test.service.services, { ...message(), tenantId: other.tenantId })).rejects.toMatchObject({
      details: { code: 'NO_DELIVERY_CHANNEL' },
    });
    expect(counts(provider)).toEqual([1]);
  });

  it('502: all have failed, after one attempt each', async () => {
    const [own, other, system] = [await provide(), await provide(), await provideSystem()];
    for (const provider of [own, other, system]) failing(provider);
    await expect(send()).rejects.toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' });
    expect([own, other, system].map(({ requests }) => requests.length)).toEqual([1, 1, 1]);
  });

  it('tries the next connector after a timeout', async () => {
    const [first, second] = [await provide({ priority: 1 }), await provide()];
    first.fail('silence');
    await send('sms', { attemptMs: 1000, totalMs: 60_000 });
    expect([first.requests.length, ...counts(second)]).toEqual([1, 1]);
  });

  it('waits long enough for a slow provider to avoid duplicate messages', async () => {
    const [slow, second] = [await provide({ priority: 1 }), await provide({ priority: 2 })];
    slow.fail('silence');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const sending = send();
    while (slow.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(8000);
    expect(second.requests).toEqual([]);
    await vi.advanceTimersByTimeAsync(2000);
    vi.useRealTimers();
    await sending;
    expect([slow.requests.length, ...counts(second)]).toEqual([1, 1]);
  });

  it('502: at the deadline, without calls to the remaining providers', async () => {
    const providers = [await provide({ priority: 1 }), await provide({ priority: 2 }), await provide()];
    for (const provider of providers) provider.fail('silence');
    await expect(send('sms', { attemptMs: 10_000, totalMs: 1000 })).rejects.toMatchObject({ status: 502 });
    expect(providers.slice(1).map(({ requests }) => requests.length)).toEqual([0, 0]);
    expect(test.logLines.filter((line) => line.includes('a provider failed'))).toHaveLength(1);
  });

  it("comes to the installation's only after the tenant's own, independent of priority", async () => {
    const system = await provideSystem({ priority: 1 });
    const own = await provide({ priority: 100 });
    await send();
    expect(counts(own, system)).toEqual([1, 0]);
    failing(own);
    await send();
    expect(counts(own, system)).toEqual([1, 1]);
  });

  it("sends the system tenant's own messages once through each", async () => {
    const system = await provideSystem();
    failing(system);
    const sending = sendMessage(test.service.services, { ...message(), tenantId: systemTenantId });
    await expect(sending).rejects.toMatchObject({ status: 502 });
    expect(system.requests).toHaveLength(1);
  });

  it('skips a connector with undecryptable credentials or invalid settings', async () => {
    const [moved, broken, last] = [await provide({ priority: 1 }), await provide({ priority: 2 }), await provide()];
    const { auth_config: sealed } = await storedConnector(test, tenant.tenantId, broken.id);
    const change = (text: string, values: unknown[]) =>
      test.service.services.database
        .tenant(tenant.tenantId)
        .interactive.all({ kind: 'write', text, values, prepare: false });
    await change('update connectors set auth_config = $3 where tenant_id = $1 and id = $2', [
      tenant.tenantId,
      moved.id,
      sealed,
    ]);
    await change(
      `update connectors set config = '{"adapter":"twilio","channels":["sms"]}' where tenant_id = $1 and id = $2`,
      [tenant.tenantId, broken.id],
    );
    await send();
    expect([moved, broken, last].map(({ requests }) => requests.length)).toEqual([0, 0, 1]);
  });
});

describe('usable connectors', () => {
  it('422: no connector', async () => {
    await expect(send()).rejects.toMatchObject({ status: 422, details: { code: 'NO_DELIVERY_CHANNEL' } });
    expect([await canSend('sms'), await canSend('chatapp')]).toEqual([false, false]);
  });

  it.each<[string, Record<string, unknown>, boolean, boolean]>([
    ['enabled', {}, true, true],
    ['disabled', { enabled: false }, false, false],
    ['for one channel', { config: { channels: ['chatapp'] } }, false, true],
    ['of another category', { category: 'integration', config: {} }, false, false],
    [
      'of another adapter',
      { config: { adapter: 'twilio', from: 'Atrium' }, auth_config: { account_sid: 'AC1', auth_token: 'x' } },
      true,
      false,
    ],
    [
      'of another adapter',
      { config: { adapter: 'whatsapp-cloud', phone_number_id: '1' }, auth_config: { token: 'x' } },
      false,
      true,
    ],
  ])('a connector that is %s: %j', async (_what, rest, sms, chatapp) => {
    await provide(rest);
    expect([await canSend('sms'), await canSend('chatapp')]).toEqual([sms, chatapp]);
    for (const [channel, can] of [
      ['sms', sms],
      ['chatapp', chatapp],
    ] as const) {
      if (!can)
        await expect(send(channel)).rejects.toMatchObject({ status: 422, details: { code: 'NO_DELIVERY_CHANNEL' } });
    }
  });

  it('a connector paused after failures is used as the last resort', async () => {
    const { id } = await provide();
    await markFailed(test, tenant.tenantId, id);
    expect(await canSend('sms')).toBe(true);
    await test.call('POST', `${path}/${id}/disable`, { token: tenant.admin.token });
    expect(await canSend('sms')).toBe(false);
  });

  it("those of the installation, and never another tenant's", async () => {
    const stranger = await createTenant(test);
    const foreign = await provide({}, stranger.admin.token);
    await expect(send()).rejects.toMatchObject({ status: 422 });
    const system = await provideSystem({ config: { channels: ['sms'] } });
    expect([await canSend('sms'), await canSend('chatapp')]).toEqual([true, false]);
    await send();
    expect(counts(foreign, system)).toEqual([0, 1]);
    await system.remove();
    expect(await canSend('sms')).toBe(false);
  });
});
