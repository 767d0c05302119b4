import { simpleParser } from 'mailparser';
import { once } from 'node:events';
import { text as textOf } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createMail, type Mail } from '#core/platform/mail/mail';
import { deleteDeliveredMail, type OutboxMail } from '#core/platform/mail/mail.queries';
import { useService } from '#test/support/harness';

// Alone, so that these relays carry no mail of other suites; the service itself has no mail server.
const test = useService({ ownDatabase: true });
const dayMs = 24 * 60 * 60_000;

type Behaviour = { refuse?: number | undefined; at?: 'recipient' | 'mail' };
type Server = { url: string; subjects: string[]; maxAtOnce: number; hold(): () => void };

/** A mail server, until the test ends. */
async function serve({ refuse, at = 'recipient' }: Behaviour = {}): Promise<Server> {
  const reply = refuse === undefined ? null : Object.assign(new Error('no such mailbox'), { responseCode: refuse });
  let held = Promise.resolve();
  let now = 0;
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: (_address, _session, done) => done(at === 'recipient' ? reply : null),
    onData: (stream, _session, done) => {
      void textOf(stream).then(async (source) => {
        const { subject = '' } = await simpleParser(source);
        server.subjects.push(subject);
        server.maxAtOnce = Math.max(server.maxAtOnce, (now += 1));
        await held;
        now -= 1;
        done(at === 'mail' ? reply : null);
      });
    },
  });
  smtp.on('error', () => undefined);
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const { port } = smtp.server.address() as { port: number };
  const server: Server = {
    url: `smtp://127.0.0.1:${port}`,
    subjects: [],
    maxAtOnce: 0,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
  };
  onTestFinished(() => new Promise<void>((resolve) => smtp.close(resolve)));
  return server;
}

const outbox = () => test.service.services.database.platform().interactive;
const composing = () => test.service.services.database.credential().interactive;
const run = <Row>(text: string, values: unknown[] = []) =>
  outbox().all<Row>({ kind: 'write', text, values, prepare: false });

/** What carries mail to a server, until the test ends; without one it only composes. */
function relay(url?: string, now = () => new Date()): Mail {
  const { database, encryption, log } = test.service.services;
  const mail = createMail({ database, encryption, log, now, smtpUrl: url, from: 'a@atrium.example' });
  onTestFinished(() => mail.close());
  return mail;
}

beforeEach(async () => {
  await run('delete from mail_outbox');
});

type New = {
  tenantId?: string;
  subject?: string;
  expiresAt?: string;
  priority?: 'awaited' | 'critical' | 'notice';
  at?: Date;
};

async function compose({ subject = newId(), at = new Date(), ...rest }: New = {}): Promise<string> {
  const id = newId();
  await composing().all(relay().compose({ id, to: 'b@example.com', subject, text: 'canary', ...rest }, at));
  return id;
}

const found = async (id: string) => (await run<OutboxMail>('select * from mail_outbox where id = $1', [id]))[0]!;
const until = (id: string, is: Partial<Record<keyof OutboxMail, unknown>>) =>
  expect.poll(() => found(id), { interval: 10, timeout: 20_000 }).toMatchObject(is);
const sent = { sent_at: expect.any(String) };

describe('what goes first', () => {
  it('a code that is composed behind 1,000 notices is among the first, and a critical notice before others', async () => {
    const mail = relay();
    const at = new Date(Date.now() - 60_000);
    const notice = () =>
      mail.compose({ to: 'b@example.com', subject: 'Notice', text: 'canary', priority: 'notice' }, at);
    await composing().batch(Array.from({ length: 1000 }, notice));
    const critical = await compose({ subject: 'Critical', priority: 'critical' });
    const code = await compose({ subject: 'Code' });
    const server = await serve();
    relay(server.url);
    await until(code, { ...sent, priority: 0 });
    await until(critical, sent);
    expect(server.subjects.slice(0, 10)).toEqual(expect.arrayContaining(['Code', 'Critical']));
  });

  it('the mail of a quiet tenant goes next, however many another tenant has waiting with the same priority', async () => {
    const mail = relay();
    const at = new Date(Date.now() - 60_000);
    const flooding = newId();
    const ofFlood = (priority: 'awaited' | 'notice') =>
      mail.compose({ to: 'b@example.com', subject: 'Flood', text: 'canary', priority, tenantId: flooding }, at);
    for (const priority of ['awaited', 'notice'] as const) {
      await run('delete from mail_outbox');
      await composing().batch(Array.from({ length: 1000 }, () => ofFlood(priority)));
      const quiet = await Promise.all(
        Array.from({ length: 9 }, (_, index) => compose({ subject: `Quiet ${index}`, priority, tenantId: newId() })),
      );
      const server = await serve();
      const relaying = relay(server.url);
      for (const id of quiet) await until(id, sent);
      await relaying.close();
      const last = Math.max(...quiet.map((_, index) => server.subjects.indexOf(`Quiet ${index}`)));
      // Five at a time, each the next tenant's.
      expect(last).toBeLessThan(20);
    }
  });

  it('a code does not wait for mails that are under way: several go out at once, five at most', async () => {
    const server = await serve();
    const release = server.hold();
    const mail = relay(server.url);
    const notices = await Promise.all(Array.from({ length: 4 }, () => compose({ priority: 'notice' })));
    mail.wake();
    await expect.poll(() => server.subjects.length, { interval: 10, timeout: 20_000 }).toBe(4);
    const code = await compose({ subject: 'Code' });
    mail.wake();
    await expect.poll(() => server.subjects, { interval: 10, timeout: 20_000 }).toContain('Code');
    const others = await Promise.all(Array.from({ length: 20 }, () => compose({ priority: 'notice' })));
    mail.wake();
    release();
    for (const id of [...notices, code, ...others]) await until(id, sent);
    expect(server.maxAtOnce).toBe(5);
    expect(server.subjects).toHaveLength(25);
  });
});

it('a process with a fast clock does not take what another one has claimed, or what waits for its retry', async () => {
  const server = await serve();
  const held = await compose();
  await run(`update mail_outbox set queued = false, next_attempt_at = now() + interval '1 minute' where id = $1`, [
    held,
  ]);
  const mail = relay(server.url, () => new Date(Date.now() + dayMs));
  for (let round = 0; round < 2; round += 1) {
    const after = await compose();
    mail.wake();
    await until(after, sent);
  }
  expect(await found(held)).toMatchObject({ attempts: 0, sent_at: null });
});

describe('retries', () => {
  it.each<[number, 'recipient' | 'mail']>([
    [550, 'recipient'],
    [554, 'mail'],
  ])('%i to the %s: failed, and its content is no longer readable', async (refuse, at) => {
    const server = await serve({ refuse, at });
    const id = await compose();
    const mail = relay(server.url);
    await until(id, { given_up_at: expect.any(String), sent_at: null, body: '', attempts: 1 });
    const row = await found(id);
    expect(row.last_error).toContain('no such mailbox');
    expect(mail.read(row)).toBe('');
    await run(`update mail_outbox set next_attempt_at = now() - interval '1 hour' where id = $1`, [id]);
    // Any retry would come before this.
    const after = await compose();
    mail.wake();
    await until(after, { given_up_at: expect.any(String) });
    expect(await found(id)).toMatchObject({ attempts: 1 });
  });

  it.each([450, 451])('%i: retried while the mail is younger than 7 days', async (refuse) => {
    const server = await serve({ refuse });
    const old = await compose({ at: new Date(Date.now() - 7 * dayMs) });
    const young = await compose({ at: new Date(Date.now() - 6.9 * dayMs) });
    relay(server.url);
    await until(young, { last_error: expect.any(String), given_up_at: null, body: expect.stringMatching(/./) });
    const text = `select next_attempt_at > now() and next_attempt_at <= now() + interval '61 s' as waits from mail_outbox where id = $1`;
    expect(await run(text, [young])).toEqual([{ waits: true }]);
    await until(old, { last_error: expect.any(String), given_up_at: expect.any(String), body: '' });
  });
});

it('a mail that waited until its link expired is given up, and is not sent', async () => {
  const server = await serve();
  const late = await compose({ subject: 'Late', expiresAt: new Date(Date.now() - 1).toISOString() });
  const inTime = await compose({ expiresAt: new Date(Date.now() + dayMs).toISOString() });
  relay(server.url);
  await until(late, { given_up_at: expect.any(String), last_error: 'expired', sent_at: null, body: '' });
  await until(inTime, sent);
  expect(server.subjects).not.toContain('Late');
});

it('only mails that were delivered or failed long ago are deleted', async () => {
  const [given, kept, waits] = [await compose(), await compose(), await compose()];
  const giveUp = (id: string, days: number) =>
    run('update mail_outbox set given_up_at = $2 where id = $1', [id, new Date(Date.now() - days * dayMs)]);
  await giveUp(given, 31);
  await giveUp(kept, 29);
  const before = new Date(Date.now() - 30 * dayMs).toISOString();
  expect(await outbox().all(deleteDeliveredMail({ before, max: 10 }))).toHaveLength(1);
  const rows = await run<{ id: string }>('select id from mail_outbox order by id');
  expect(rows.map(({ id }) => id)).toEqual([kept, waits].toSorted());
});
