import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { createConnector } from '#modules/connectors/testing/connectors';
import type { Channel } from '#modules/connectors/messaging/adapter';
import { adapters } from '#modules/connectors/messaging/adapters/adapters';
import { connectorAt, startProvider, type Fake } from '#modules/connectors/messaging/adapters/testing/provider';
import { twilioFake } from '#modules/connectors/messaging/adapters/twilio/testing/fake';
import { webhookFake } from '#modules/connectors/messaging/adapters/webhook/testing/fake';
import { whatsappCloudFake } from '#modules/connectors/messaging/adapters/whatsapp-cloud/testing/fake';
import { sendMessage } from '#modules/connectors/messaging/messaging.service';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
const fakes: readonly Fake[] = [webhookFake, twilioFake, whatsappCloudFake];
const to = '+4915112345678';
const failed = { status: 502, code: 'UPSTREAM_ERROR' };

it('every adapter has a fake that holds it to the same contract', () => {
  expect(fakes.map((fake) => fake.adapter).toSorted()).toEqual(Object.keys(adapters).toSorted());
});

it.each([
  ['webhook', 'https://a.example/hook/?key=1', 'https://a.example/hook/?key=1'],
  ['twilio', 'https://api.twilio.com', 'https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json'],
  ['twilio', 'https://api.twilio.com/', 'https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json'],
  ['twilio', 'https://api.twilio.com/2010-04-01', 'https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json'],
  ['twilio', 'https://a.example/proxy/?key=1', 'https://a.example/proxy/2010-04-01/Accounts/AC1/Messages.json?key=1'],
  ['whatsapp-cloud', 'https://graph.facebook.com/v23.0', 'https://graph.facebook.com/v23.0/15/messages'],
  ['whatsapp-cloud', 'https://graph.facebook.com/v23.0/', 'https://graph.facebook.com/v23.0/15/messages'],
])('%s at %s calls %s', (adapter, baseUrl, url) => {
  const config = { from: 'Atrium', phone_number_id: '15' };
  const credentials = { account_sid: 'AC1', auth_token: 'x', token: 'x' };
  const message = { channel: 'chatapp', to, text: 'x' } as const;
  const envelope = { id: 'id', at: new Date() };
  expect(adapters[adapter]!.request({ baseUrl, config, credentials }, message, envelope).url).toBe(url);
});

describe.each(fakes)('$adapter', (fake) => {
  let tenant: Tenant;
  const channel = fake.channels[0]!;

  beforeAll(async () => {
    tenant = await createTenant(test);
  });
  beforeEach(() => void (test.logLines.length = 0));

  async function provide(rest: Record<string, unknown> = {}) {
    const provider = await startProvider(fake);
    // Alone on its own, so that nothing else can deliver in its place.
    tenant = await createTenant(test);
    await createConnector(test, tenant.admin.token, connectorAt(fake, provider, rest));
    return provider;
  }

  const send = (text: string, by: Channel = channel, patience?: { attemptMs: number; totalMs: number }) =>
    sendMessage(test.service.services, { tenantId: tenant.tenantId, channel: by, to, text }, patience);

  /** Neither the message, which may be a code, nor what opens the provider. */
  function expectSilence(): void {
    const log = test.logLines.join('\n');
    for (const secret of ['424242', to, to.slice(1), 'canary']) expect(log).not.toContain(secret);
  }

  it.each(fake.channels)('delivers by %s, to the last character', async (by) => {
    const provider = await provide();
    const texts = [
      'Your code is 424242.',
      'ä €  𝕏 👩‍👩‍👧 עברית',
      'a+b & c=d?e#f %20 "quoted" \\ \n\tnew line {"json":true} <b>',
      'x'.repeat(1600),
    ];
    for (const text of texts) await send(text, by);
    expect(provider.taken).toEqual(texts.map((text) => ({ to, text })));
    expect(provider.channels).toEqual(texts.map(() => by));
    expect(test.logLines.filter((line) => line.includes('could not deliver'))).toEqual([]);
    expectSilence();
  });

  it('fails with credentials that the provider does not know', async () => {
    const provider = await provide({ auth_config: fake.wrongCredentials });
    await expect(send('Your code is 424242.')).rejects.toMatchObject(failed);
    expect(provider.requests).toHaveLength(1);
    expect(provider.taken).toEqual([]);
    expect(test.logLines.join('\n')).toContain('"answered":401');
    expectSilence();
  });

  it.each([301, 302, 307, 308, 400, 403, 404, 408, 429, 500, 503])(
    'fails when the provider answers %i',
    async (status) => {
      const provider = await provide();
      const canary = await startProvider(fake);
      provider.misbehave((response) =>
        response.writeHead(status, { location: `${canary.origin}/` }).end(`424242 ${to} canary`),
      );
      await expect(send('Your code is 424242.')).rejects.toMatchObject(failed);
      // Once, because a message must not arrive twice; and where it was sent to, because credentials go nowhere else.
      expect([provider.requests.length, canary.requests.length]).toEqual([1, 0]);
      expectSilence();
    },
  );

  it('fails when the provider cuts the connection, or says something that is no HTTP', async () => {
    for (const words of ['', '424242 canary\r\n\r\n']) {
      const provider = await provide();
      provider.misbehave((_response, request) => request.socket.end(words));
      await expect(send('Your code is 424242.')).rejects.toMatchObject(failed);
    }
    expectSilence();
  });

  it('fails when the provider is not there', async () => {
    await provide({ api_base_url: 'http://127.0.0.1:1024' });
    await expect(send('Your code is 424242.')).rejects.toMatchObject(failed);
    expectSilence();
  });

  it('fails when the provider does not answer in time', async () => {
    const provider = await provide();
    provider.misbehave(() => undefined);
    await expect(send('424242', channel, { attemptMs: 100, totalMs: 10_000 })).rejects.toMatchObject(failed);
    expectSilence();
  });
});
