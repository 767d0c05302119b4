import { beforeEach, describe, expect, it } from 'vitest';

import type { Channel, RequestAdapter } from '#modules/connectors/messaging/adapter';
import { adapters } from '#modules/connectors/messaging/adapters/adapters';
import { smtpFake, smtpsFake } from '#modules/connectors/messaging/adapters/smtp/testing/fake';
import { startHttpProvider, type HttpFake } from '#modules/connectors/messaging/adapters/testing/http-provider';
import { startMailProvider } from '#modules/connectors/messaging/adapters/testing/mail-provider';
import {
  connectorAt,
  startProvider,
  type Fake,
  type Fault,
} from '#modules/connectors/messaging/adapters/testing/provider';
import { twilioFake } from '#modules/connectors/messaging/adapters/twilio/testing/fake';
import { webhookFake } from '#modules/connectors/messaging/adapters/webhook/testing/fake';
import { whatsappCloudFake } from '#modules/connectors/messaging/adapters/whatsapp-cloud/testing/fake';
import { sendMessage } from '#modules/connectors/messaging/messaging.service';
import { createConnector } from '#modules/connectors/testing/connectors';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
const httpFakes: readonly HttpFake[] = [webhookFake, twilioFake, whatsappCloudFake];
const fakes: readonly (readonly [string, Fake])[] = [
  ...httpFakes.map((fake) => [fake.adapter, fake] as const),
  ['smtp with STARTTLS', smtpFake],
  ['smtp with TLS', smtpsFake],
];
const phone = '+4915112345678';
const mailbox = 'person.15112345678@example.com';
const toBy = (channel: Channel) => (channel === 'email' ? mailbox : phone);
const failed = { status: 502, code: 'UPSTREAM_ERROR' };
const refused = { status: 422, details: { code: 'REFUSED_BY_PROVIDERS' } };
let tenant: Tenant;

async function provideAt<P extends { origin: string }>(
  fake: Fake,
  start: () => Promise<P>,
  rest: Record<string, unknown>,
) {
  const provider = await start();
  // Alone on its own, so that nothing else can deliver in its place.
  tenant = await createTenant(test);
  await createConnector(test, tenant.admin.token, connectorAt(fake, provider, rest));
  return provider;
}

const sendBy = (channel: Channel, text: string, timeouts?: { attemptMs: number; totalMs: number }) => {
  const subject = channel === 'email' ? { subject: 'Ünïcode & more' } : {};
  const message = { tenantId: tenant.tenantId, channel, to: toBy(channel), ...subject, text };
  return sendMessage(test.service.services, message, timeouts);
};

/** Neither the message, which may be a code, nor what opens the provider. */
function expectSilence(): void {
  const log = test.logLines.join('\n');
  for (const secret of ['424242', phone, phone.slice(1), mailbox, 'canary']) expect(log).not.toContain(secret);
}

it('every adapter is tested against this contract with a fake', () => {
  const tested = [...new Set(fakes.map(([, { adapter }]) => adapter))].toSorted();
  expect(tested, 'adapters that `fakes` of this file has a fake of').toEqual(Object.keys(adapters).toSorted());
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
  const message = { channel: 'chatapp', to: phone, text: 'x' } as const;
  const envelope = { id: 'id', at: new Date() };
  const { request } = adapters[adapter] as RequestAdapter;
  expect(request({ baseUrl, config, credentials }, message, envelope).url).toBe(url);
});

describe.each(fakes)('%s', (_name, fake) => {
  const channel = fake.channels[0]!;
  const provide = (rest: Record<string, unknown> = {}) => provideAt(fake, () => startProvider(fake), rest);

  beforeEach(() => void (test.logLines.length = 0));

  it.each(fake.channels)('delivers by %s, complete to the last character', async (by) => {
    const provider = await provide();
    const texts = [
      'Your code is 424242.',
      'ä €  𝕏 👩‍👩‍👧 עברית',
      'a+b & c=d?e#f %20 "quoted" \\ \n\tnew line {"json":true} <b>',
      'x'.repeat(1600),
    ];
    for (const text of texts) await sendBy(by, text);
    const subject = by === 'email' ? { subject: 'Ünïcode & more' } : {};
    expect(provider.taken).toEqual(texts.map((text) => ({ to: toBy(by), text, ...subject })));
    expect(provider.channels).toEqual(texts.map(() => by));
    expect(test.logLines.filter((line) => line.includes('a provider failed'))).toEqual([]);
    expectSilence();
  });

  it('fails with credentials that the provider refuses', async () => {
    const provider = await provide({ auth_config: fake.wrongCredentials });
    await expect(sendBy(channel, 'Your code is 424242.')).rejects.toMatchObject(failed);
    expect(provider.requests).toHaveLength(1);
    expect(provider.taken).toEqual([]);
    expect(test.logLines.join('\n')).toContain('"failure":"credentials"');
    expectSilence();
  });

  it.each<Fault>(['cut', 'nonsense', 'error'])('fails on %s, after one attempt', async (fault) => {
    const provider = await provide();
    provider.fail(fault);
    await expect(sendBy(channel, 'Your code is 424242.')).rejects.toMatchObject(failed);
    // Once, because a message must not arrive twice.
    expect(provider.requests).toHaveLength(1);
    expectSilence();
  });

  it('fails when the provider is unreachable', async () => {
    const provider = await provide();
    const api_base_url = provider.origin.replace(/\d+$/, '1024');
    tenant = await createTenant(test);
    await createConnector(test, tenant.admin.token, connectorAt(fake, provider, { api_base_url }));
    await expect(sendBy(channel, 'Your code is 424242.')).rejects.toMatchObject(failed);
    expectSilence();
  });

  it('fails when the provider does not answer in time', async () => {
    const provider = await provide();
    provider.fail('silence');
    await expect(sendBy(channel, '424242', { attemptMs: 100, totalMs: 10_000 })).rejects.toMatchObject(failed);
    expectSilence();
  });
});

describe.each([smtpFake, smtpsFake])('smtp, with TLS from the first byte: $tls', (fake) => {
  it.each([
    [550, 'recipient', refused],
    [450, 'recipient', failed],
    [552, 'mail', refused],
    [452, 'mail', failed],
  ] as const)('answers %i to the %s', async (reply, what, expected) => {
    test.logLines.length = 0;
    const provider = await provideAt(fake, () => startMailProvider(fake), {});
    provider.refuse(what, reply);
    await expect(sendBy('email', 'Your code is 424242.')).rejects.toMatchObject(expected);
    expect(provider.taken).toEqual([]);
    expectSilence();
  });
});

describe.each(httpFakes)('$adapter over HTTP', (fake) => {
  beforeEach(() => void (test.logLines.length = 0));

  it.each([301, 302, 307, 308, 403, 404, 408, 429, 500, 503])('fails on status %i', async (status) => {
    const provider = await provideAt(fake, () => startHttpProvider(fake), {});
    const canary = await startHttpProvider(fake);
    provider.misbehave((response) =>
      response.writeHead(status, { location: `${canary.origin}/` }).end(`424242 ${phone} canary`),
    );
    await expect(sendBy(fake.channels[0]!, 'Your code is 424242.')).rejects.toMatchObject(failed);
    // Where it was sent to and nowhere else, because of the credentials; and once.
    expect([provider.requests.length, canary.requests.length]).toEqual([1, 0]);
    expectSilence();
  });

  it.each([400, 413, 414, 422])('reports a refused number or text: %i', async (status) => {
    const provider = await provideAt(fake, () => startHttpProvider(fake), {});
    provider.misbehave((response) => response.writeHead(status).end(`424242 ${phone} canary`));
    await expect(sendBy(fake.channels[0]!, 'Your code is 424242.')).rejects.toMatchObject(refused);
    expect(provider.requests).toHaveLength(1);
    expectSilence();
  });
});
