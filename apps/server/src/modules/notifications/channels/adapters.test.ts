import { beforeEach, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { startHttpProvider, type HttpProvider } from '#modules/connectors/messaging/adapters/testing/http-provider';
import { connectorAt } from '#modules/connectors/messaging/adapters/testing/provider';
import { webhookFake } from '#modules/connectors/messaging/adapters/webhook/testing/fake';
import { override } from '#modules/connectors/overrides/testing/overrides';
import { createConnector } from '#modules/connectors/testing/connectors';
import { adapters } from '#modules/notifications/channels/adapters';
import type { ChannelMessage } from '#modules/notifications/channels/channel';
import { messageFor } from '#modules/notifications/channels/testing/messages';
import { createTenant, proveAddress, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// Alone, so that no connector of the installation delivers in place of those that a test makes.
const test = useService({
  ownDatabase: true,
  environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32', PUBLIC_URL: 'https://atrium.example' },
});
const never = new AbortController().signal;
let tenant: Tenant;

beforeEach(async () => {
  tenant = await createTenant(test);
  test.logLines.length = 0;
});

async function provide(rest: Record<string, unknown> = {}): Promise<HttpProvider> {
  const provider = await startHttpProvider(webhookFake);
  await createConnector(test, tenant.admin.token, connectorAt(webhookFake, provider, rest));
  return provider;
}

const channels = ['sms', 'chatapp', 'email', 'webhook'] as const;
type Channel = (typeof channels)[number];
const carry = (channel: Channel, message: ChannelMessage = messageFor(tenant), signal = never) =>
  adapters[channel](test.service.services, message, signal);

it('every channel except the inbox has an adapter', () => {
  expect(Object.keys(adapters).toSorted()).toEqual(['chatapp', 'email', 'push', 'sms', 'webhook']);
});

describe('the delivered message', () => {
  it.each<[Channel, string]>([
    ['sms', 'Water off on Monday\nhttps://house.example/notes/1'],
    ['chatapp', 'Water off on Monday\n\nFrom 8 to 10.\n\nhttps://house.example/notes/1'],
  ])('%s: is a text to the phone number', async (channel, text) => {
    const provider = await provide();
    expect(await carry(channel)).toEqual({ kind: 'taken' });
    expect([provider.channels, provider.taken]).toEqual([[channel], [{ to: '+4915112345678', text }]]);
  });

  it.each(['sms', 'chatapp', 'email'] as const)(
    '%s: with a link that leads from outside to where it does within',
    async (channel) => {
      const provider = await provide();
      await carry(channel, messageFor(tenant, { link: '/news/1' }));
      expect(provider.taken[0]!.text).toMatch(/^https:\/\/atrium\.example\/news\/1$/m);
    },
  );

  it('email: is a mail to the address that gives its reason', async () => {
    const provider = await provide();
    await proveAddress(test, tenant.admin.email);
    expect(await carry('email')).toEqual({ kind: 'taken' });
    expect(provider.taken).toEqual([
      { to: tenant.admin.email, subject: 'Water off on Monday', text: expect.stringContaining('From 8 to 10.') },
    ]);
    const { text } = provider.taken[0]!;
    for (const part of [tenant.name, 'maintenance.planned', '/settings/notifications']) expect(text).toContain(part);
  });

  it('email: omits the name of a tenant without an administrator with a verified address', async () => {
    const provider = await provide();
    expect(await carry('email')).toEqual({ kind: 'taken' });
    const { text } = provider.taken[0]!;
    expect(text).toContain('you are a member of your organisation');
    expect(text).not.toContain(tenant.name);
  });

  it('webhook: contains all fields unchanged', async () => {
    const provider = await provide();
    const message = messageFor(tenant, { isCritical: true, texts: { title: 'a\r\nb', body: '' }, link: null });
    expect(await carry('webhook', message)).toEqual({ kind: 'taken' });
    expect(JSON.parse(provider.requests[0]!.body)).toEqual({
      channel: 'webhook',
      notification: {
        deliveryId: message.deliveryId,
        notificationId: message.notificationId,
        tenantId: tenant.tenantId,
        userId: tenant.admin.userId,
        category: 'maintenance.planned',
        title: 'a\r\nb',
        body: '',
        link: null,
        data: { house: 7 },
        isCritical: true,
      },
    });
  });

  it('webhook: is sent only if the connector configures the channel', async () => {
    const provider = await provide({ config: { adapter: 'webhook' } });
    expect(await carry('webhook')).toEqual({ kind: 'no_provider' });
    expect(provider.requests).toEqual([]);
  });

  it.each(channels)('%s: has the id of the delivery at each attempt', async (channel) => {
    const provider = await provide();
    const message = messageFor(tenant);
    for (let attempt = 0; attempt < 2; attempt += 1) await carry(channel, message);
    expect(provider.requests.map(({ headers }) => headers['webhook-id'])).toEqual([
      message.deliveryId,
      message.deliveryId,
    ]);
  });

  it.each(['a\r\nBcc: b@example.com', 'a\n\nbody', 'a\u0000b'])(
    'email: with a subject of one line: %j',
    async (title) => {
      const provider = await provide();
      await carry('email', messageFor(tenant, { texts: { title, body: '' } }));
      expect(provider.taken[0]!.subject).not.toMatch(/\p{Cc}/u);
    },
  );
});

describe.each(channels)('%s', (channel) => {
  it('no_provider: the channel has no connector', async () => {
    expect(await carry(channel)).toEqual({ kind: 'no_provider' });
    const others = ['sms', 'chatapp', 'email', 'webhook'].filter((other) => other !== channel);
    const provider = await provide({ config: { adapter: 'webhook', channels: others } });
    expect(await carry(channel)).toEqual({ kind: 'no_provider' });
    expect(provider.requests).toEqual([]);
  });

  it('switched_off: the tenant has disabled the operation', async () => {
    const provider = await provide();
    await override(test, tenant.tenantId, { operation: `messaging.${channel}`, enabled: false });
    expect(await carry(channel)).toEqual({ kind: 'switched_off' });
    expect(provider.requests).toEqual([]);
  });

  it.each([400, 413, 422])('refused: all connectors answer %i', async (status) => {
    const provider = await provide();
    provider.misbehave((response) => response.writeHead(status).end('canary'));
    expect(await carry(channel)).toEqual({ kind: 'refused' });
    expect(provider.requests).toHaveLength(1);
  });

  it.each(['cut', 'nonsense', 'error'] as const)('failed: %s, after one attempt', async (fault) => {
    const provider = await provide();
    provider.fail(fault);
    const outcome = await carry(channel);
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'UPSTREAM_ERROR' } });
    expect(JSON.stringify(outcome)).not.toContain('canary');
    // A program recognises what it gets twice, and its connection may have been a kept one.
    const isSentAgain = channel === 'webhook' && fault === 'cut';
    expect(provider.requests).toHaveLength(isSentAgain ? 2 : 1);
  });

  it('failed: the provider sends Retry-After and is not called before', async () => {
    const provider = await provide();
    provider.misbehave((response) => response.writeHead(429, { 'retry-after': '300' }).end());
    for (const kind of ['failed', 'not_asked']) {
      const outcome = (await carry(channel)) as { kind: string; retryAfterMs: number };
      expect(outcome.kind).toBe(kind);
      expect(outcome.retryAfterMs).toBeGreaterThan(180_000);
      expect(outcome.retryAfterMs).toBeLessThanOrEqual(300_000);
    }
    expect(provider.requests).toHaveLength(1);
  });

  it('failed: the quota of the tenant is exceeded, until its period ends', async () => {
    const provider = await provide();
    await override(test, tenant.tenantId, {
      operation: `messaging.${channel}`,
      quotaLimits: { requests_per_month: 1 },
    });
    expect(await carry(channel)).toEqual({ kind: 'taken' });
    const outcome = await carry(channel);
    expect(outcome).toMatchObject({ kind: 'failed', error: { details: { code: 'QUOTA_EXCEEDED' } } });
    expect((outcome as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(0);
    expect(provider.taken).toHaveLength(1);
  });

  it('throws the abort reason if the provider does not answer', async () => {
    const provider = await provide();
    const controller = new AbortController();
    const reason = new Error('the process stops');
    provider.misbehave(() => controller.abort(reason));
    await expect(carry(channel, messageFor(tenant), controller.signal)).rejects.toBe(reason);
  });

  it('throws the abort reason of a signal that is already aborted', async () => {
    const provider = await provide();
    const reason = new Error('the process stops');
    await expect(carry(channel, messageFor(tenant), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(provider.requests).toEqual([]);
  });

  it('throws internal errors', async () => {
    await expect(carry(channel, messageFor(tenant, { tenantId: 'no id' }))).rejects.toThrow(/uuid/);
  });
});

describe.each(['sms', 'chatapp'] as const)('%s', (channel) => {
  it.each([null, ''])('no_address: phone %j', async (phone) => {
    const provider = await provide();
    expect(await carry(channel, messageFor(tenant, { person: { phone } }))).toEqual({ kind: 'no_address' });
    expect(provider.requests).toEqual([]);
  });
});

describe('email without a connector', () => {
  it('no_provider: without a mail server too, and nothing is queued', async () => {
    const message = messageFor(tenant, { deliveryId: newId() });
    expect(await carry('email', message)).toEqual({ kind: 'no_provider' });
    const rows = await test.service.services.database.platform().all({
      kind: 'read',
      text: 'select id from mail_outbox where id = $1',
      values: [message.deliveryId],
      prepare: false,
    });
    expect(rows).toEqual([]);
  });

  it('no_address: a user without an address', async () => {
    expect(await carry('email', messageFor(tenant, { person: { email: '' } }))).toEqual({ kind: 'no_address' });
  });
});
