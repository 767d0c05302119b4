import { simpleParser, type ParsedMail } from 'mailparser';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

import type { Service } from '#app/service';
import { smtpFake } from '#modules/connectors/messaging/adapters/smtp/testing/fake';
import { connectorAt, startProvider } from '#modules/connectors/messaging/adapters/testing/provider';
import { override } from '#modules/connectors/overrides/testing/overrides';
import { createConnector } from '#modules/connectors/testing/connectors';
import type { ChannelMessage } from '#modules/notifications/channels/channel';
import { email } from '#modules/notifications/channels/email';
import { messageFor } from '#modules/notifications/channels/testing/messages';
import { createTenant, proveAddress, type Tenant } from '#test/support/factories';
import { startService, testServiceOf, useService } from '#test/support/harness';

// Alone, so that this relay carries no mail of other suites.
const test = useService({ ownDatabase: true });
const never = new AbortController().signal;
const received: { mail: ParsedMail; recipients: string[] }[] = [];
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData: (stream, session, done) => {
    void text(stream).then(async (source) => {
      const recipients = session.envelope.rcptTo.map(({ address }) => address);
      received.push({ mail: await simpleParser(source), recipients });
      done();
    });
  },
});
let relay: Service;
let tenant: Tenant;
let address: string;

beforeAll(async () => {
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const { port } = smtp.server.address() as { port: number };
  const environment = {
    SMTP_URL: `smtp://127.0.0.1:${port}`,
    MAIL_FROM: 'Atrium <no-reply@atrium.example>',
    OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32',
  };
  relay = await startService({ connection: test.connection, environment });
});
afterAll(async () => {
  await relay.close();
  await new Promise<void>((resolve) => smtp.close(resolve));
});
beforeEach(async () => {
  tenant = await createTenant(test);
  address = tenant.admin.email;
  await proveAddress(test, address);
});

const send = (message: ChannelMessage) => email(relay.services, message, never);
/** But for what proves the address. */
const receivedBy = (to: string) =>
  received.filter(({ mail, recipients }) => recipients.includes(to) && mail.subject !== 'Confirm your address');
const arrived = async (to = address) => {
  await expect.poll(() => receivedBy(to).length, { interval: 10, timeout: 20_000 }).toBe(1);
  return receivedBy(to)[0]!;
};
/** What the outbox has of a delivery, once it was delivered or never will be. */
const outbox = (id: string) =>
  relay.services.database.platform().all<{ id: string; sent_at: string | null; priority: number }>({
    kind: 'read',
    text: 'select id, sent_at, priority from mail_outbox where id = $1',
    values: [id],
    prepare: false,
  });

it('is delivered by the mail server of the installation', async () => {
  const message = messageFor(tenant, { person: { locale: 'de-AT' } });
  expect(await send(message)).toEqual({ kind: 'taken' });
  const { mail, recipients } = await arrived();
  expect(recipients).toEqual([address]);
  expect(mail.subject).toBe('Water off on Monday');
  expect(mail.from?.text).toBe('"Atrium" <no-reply@atrium.example>');
  expect(mail.messageId).toBe(`<${message.deliveryId}@atrium>`);
  expect(mail.html).toBe(false);
  expect(mail.text).toContain(`From 8 to 10.\n\nhttps://house.example/notes/1\n\n-- \nSie erhalten`);
  expect(mail.text).toContain(tenant.name);
});

it('is delivered once despite repeated and concurrent attempts', async () => {
  const message = messageFor(tenant);
  const attempt = () => send(message);
  const outcomes = await Promise.all(Array.from({ length: 50 }, attempt));
  expect(outcomes).toEqual(outcomes.map(() => ({ kind: 'taken' })));
  await arrived();
  await expect
    .poll(() => outbox(message.deliveryId), { interval: 10, timeout: 20_000 })
    .toMatchObject([{ id: message.deliveryId, sent_at: expect.any(String) }]);
  const [before] = await outbox(message.deliveryId);
  expect(await attempt()).toEqual({ kind: 'taken' });
  expect(await outbox(message.deliveryId)).toEqual([before]);
  // A second mail would arrive before this one.
  const later = await createTenant(test);
  await proveAddress(test, later.admin.email);
  await send(messageFor(later));
  await arrived(later.admin.email);
  expect(receivedBy(address)).toHaveLength(1);
});

it.each([
  'Water\r\nBcc: canary@example.com',
  'Water\nBcc: canary@example.com',
  'Water\r\n\r\nFrom: canary@example.com\r\n.\r\nRCPT TO:<canary@example.com>',
  'Water\u0000\u2028Bcc: canary@example.com',
  '=?utf-8?Q?Water=0D=0ABcc:_canary@example.com?=',
])('has %j in the subject, and only that', async (title) => {
  await send(messageFor(tenant, { texts: { title, body: '.\r\n.\r\nQUIT\r\n' } }));
  const { mail, recipients } = await arrived();
  expect(recipients).toEqual([address]);
  expect([mail.bcc, mail.cc]).toEqual([undefined, undefined]);
  expect(mail.from?.value).toEqual([{ address: 'no-reply@atrium.example', name: 'Atrium' }]);
  expect(receivedBy('canary@example.com')).toEqual([]);
});

it("arrives by the tenant's own mail server where it has one, under an id that stays the same", async () => {
  const provider = await startProvider(smtpFake);
  await createConnector(testServiceOf(relay, test.connection), tenant.admin.token, connectorAt(smtpFake, provider));
  const message = messageFor(tenant);
  expect(await send(message)).toEqual({ kind: 'taken' });
  expect(provider.taken).toMatchObject([{ to: address, subject: 'Water off on Monday' }]);
  expect(await outbox(message.deliveryId)).toEqual([]);
  provider.fail('error');
  expect((await send(message)).kind).not.toBe('taken');
  expect(await outbox(message.deliveryId)).toEqual([]);
});

it('switched_off: no failover if the tenant has disabled mail', async () => {
  const by = testServiceOf(relay, test.connection);
  await override(by, tenant.tenantId, { operation: 'messaging.email', enabled: false });
  const message = messageFor(tenant);
  expect(await send(message)).toEqual({ kind: 'switched_off' });
  expect(await outbox(message.deliveryId)).toEqual([]);
});

it.each([
  [true, 1],
  [false, 2],
])('has a lower priority than mails that a user waits for: critical %s is %i', async (isCritical, priority) => {
  const message = messageFor(tenant, { isCritical });
  await send(message);
  expect(await outbox(message.deliveryId)).toMatchObject([{ priority }]);
});

it('no_address: an unverified address, and one that the account no longer has', async () => {
  const unproven = await createTenant(test);
  const messages = [messageFor(unproven), messageFor(tenant, { person: { email: unproven.admin.email } })];
  for (const message of messages) {
    expect(await send(message)).toEqual({ kind: 'no_address' });
    expect(await outbox(message.deliveryId)).toEqual([]);
  }
});
