import { simpleParser, type ParsedMail } from 'mailparser';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Service } from '#app/service';
import { createClock, hour, mailsTo, post, tokenIn } from '#modules/auth/testing/steps';
import { createMember, createTenant } from '#test/support/factories';
import { startService, useService } from '#test/support/harness';

const clock = createClock();
// A database of its own, so that the relay does not send the mails of other suites.
const test = useService({ now: clock.now, ownDatabase: true });

const received: { mail: ParsedMail; recipients: string[] }[] = [];
const refusals: { refuse: boolean; of: string[] } = { refuse: false, of: [] };
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData: (stream, session, done) => {
    void text(stream).then(async (source) => {
      const recipients = session.envelope.rcptTo.map((recipient) => recipient.address);
      if (refusals.refuse) {
        refusals.of.push(...recipients);
        return done(Object.assign(new Error('try again later'), { responseCode: 451 }));
      }
      received.push({ mail: await simpleParser(source), recipients });
      return done();
    });
  },
});
let relay: Service;

beforeAll(async () => {
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const { port } = smtp.server.address() as { port: number };
  const environment = { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'Atrium <no-reply@atrium.example>' };
  relay = await startService({ now: clock.now, environment, connection: test.connection });
});
afterAll(async () => {
  await relay.close();
  await new Promise<void>((resolve) => smtp.close(resolve));
});

const forgot = (email: string) =>
  relay.http.inject({ method: 'POST', url: '/api/v1/public/auth/forgot-password', payload: { email } });

const receivedBy = (email: string) => received.filter((one) => one.recipients.includes(email));
const delivered = (email: string) => expect.poll(() => receivedBy(email).length, { interval: 10, timeout: 20_000 });
const endPause = (email: string) =>
  test.service.services.database.platform().interactive.all({
    kind: 'write',
    text: 'update mail_outbox set next_attempt_at = now() where recipient = $1',
    values: [email],
    prepare: false,
  });
const row = async (email: string) => (await mailsTo(test, email))[0]!;

describe('a reset mail', () => {
  it('arrives, its link works, and the outbox keeps no copy of it', async () => {
    const { email } = await createMember(test, await createTenant(test));
    expect((await forgot(email)).statusCode).toBe(200);
    await delivered(email).toBe(1);
    const { mail, recipients } = receivedBy(email)[0]!;
    expect(recipients).toEqual([email]);
    expect(mail.subject).toBe('Set a new password');
    expect(mail.from?.text).toBe('"Atrium" <no-reply@atrium.example>');
    await expect
      .poll(() => row(email), { interval: 50, timeout: 20_000 })
      .toMatchObject({
        text: '',
        attempts: 1,
        sent_at: expect.any(String),
        last_error: null,
      });
    const set = await post(test, 'reset-password', { token: tokenIn(mail.text!), password: 'another horse' });
    expect(set.status).toBe(200);
    expect((await post(test, 'login', { email, password: 'another horse' })).status).toBe(200);
  });

  it('is sent again after a temporary refusal of the server, and is not lost', async () => {
    const { email } = await createMember(test, await createTenant(test));
    refusals.refuse = true;
    expect((await forgot(email)).statusCode).toBe(200);
    const failed = { attempts: 1, sent_at: null, last_error: expect.stringContaining('451') };
    await expect.poll(() => row(email), { interval: 50, timeout: 20_000 }).toMatchObject(failed);
    relay.services.mail.wake();
    refusals.refuse = false;
    await endPause(email);
    relay.services.mail.wake();
    await delivered(email).toBe(1);
    await expect
      .poll(() => row(email), { interval: 50, timeout: 20_000 })
      .toMatchObject({
        text: '',
        attempts: 2,
        last_error: null,
      });
    expect(refusals.of.filter((recipient) => recipient === email)).toEqual([email]);
    const token = tokenIn(receivedBy(email)[0]!.mail.text!);
    expect((await post(test, 'reset-password', { token, password: 'another horse' })).status).toBe(200);
  });

  it('is delivered once, although two processes relay', async () => {
    const second = await startService({
      now: clock.now,
      connection: test.connection,
      environment: { SMTP_URL: `smtp://127.0.0.1:${(smtp.server.address() as { port: number }).port}` },
    });
    const { email } = await createMember(test, await createTenant(test));
    for (let count = 0; count < 3; count++) {
      await forgot(email);
      second.services.mail.wake();
      // A mail that still waits would be superseded by the next one.
      await delivered(email).toBe(count + 1);
    }
    clock.advance(hour);
    for (const service of [relay, second]) service.services.mail.wake();
    await second.close();
    expect(new Set(receivedBy(email).map((one) => one.mail.messageId)).size).toBe(3);
    expect(receivedBy(email)).toHaveLength(3);
  });
});
