import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { SMTPServer } from 'smtp-server';
import { describe, expect, it } from 'vitest';

import { MailNotTaken, deliverMail } from '#core/platform/mail/mail-delivery';
import type { Outbound } from '#core/platform/outbound/outbound';
import { makeCertificate, type Certificate } from '#core/platform/outbound/testing/certificates';
import { listen, outboundToLoopback } from '#core/platform/outbound/testing/outside';

const trusted = makeCertificate({ hosts: ['127.0.0.1'] });
setDefaultCACertificates([...getCACertificates('default'), trusted.cert]);

const mail = { from: 'a@example.com', to: 'b@example.com', subject: 'Hello', text: 'canary', messageId: '<1@a>' };

async function deliver(
  port: number,
  tls = false,
  rest: Partial<typeof mail> = {},
  outbound: Pick<Outbound, 'connect'> = outboundToLoopback(),
): Promise<MailNotTaken | undefined> {
  const server = { host: '127.0.0.1', port, tls, user: 'user', password: 'canary password' };
  const { signal } = new AbortController();
  const failure = await deliverMail(outbound, server, { ...mail, ...rest }, signal).catch((error: unknown) => error);
  if (failure !== undefined) expect(failure).toBeInstanceOf(MailNotTaken);
  return failure as MailNotTaken | undefined;
}

type Refusals = Partial<Record<'login' | 'sender' | 'recipient' | 'mail', number>>;

const replyOf = (responseCode: number | undefined) =>
  responseCode === undefined ? null : Object.assign(new Error('canary refusal'), { responseCode });

/** A mail server, and what it was told in its session. */
async function serve(
  certificate: Certificate,
  { withoutTls = false, refuse = {} }: { withoutTls?: boolean; refuse?: Refusals } = {},
) {
  const seen: { users: (string | undefined)[]; recipients: string[] } = { users: [], recipients: [] };
  const smtp = new SMTPServer({
    ...certificate,
    ...(withoutTls ? { disabledCommands: ['STARTTLS'], allowInsecureAuth: true } : {}),
    onAuth(auth, _session, done) {
      seen.users.push(auth.username);
      if (refuse.login === undefined) done(null, { user: 'user' });
      else done(replyOf(refuse.login));
    },
    onMailFrom(_address, _session, done) {
      done(replyOf(refuse.sender));
    },
    onRcptTo({ address }, _session, done) {
      seen.recipients.push(address);
      done(replyOf(refuse.recipient));
    },
    onData(stream, _session, done) {
      stream.on('end', () => done(replyOf(refuse.mail))).resume();
    },
  });
  smtp.on('error', () => undefined);
  const front = createServer((socket) => void smtp.server.emit('connection', socket));
  return { seen, port: await listen(front) };
}

describe('deliverMail', () => {
  it('logs in after TLS and hands the mail over', async () => {
    const { seen, port } = await serve(trusted);
    expect(await deliver(port)).toBeUndefined();
    expect(seen).toEqual({ users: ['user'], recipients: ['b@example.com'] });
  });

  it.each<[keyof Refusals, number, string, boolean]>([
    ['recipient', 550, 'refused', false],
    ['recipient', 450, 'refused', true],
    ['mail', 554, 'refused', false],
    ['mail', 452, 'refused', true],
    ['mail', 421, 'answer', true],
    ['sender', 550, 'answer', false],
    ['login', 535, 'credentials', false],
  ])('tells of what is said to the %s: %i', async (what, reply, kind, mayPass) => {
    const { port } = await serve(trusted, { refuse: { [what]: reply } });
    expect(await deliver(port)).toMatchObject({ kind, mayPass });
  });

  it('says nothing to a server that has no TLS', async () => {
    const { seen, port } = await serve(trusted, { withoutTls: true });
    expect((await deliver(port))?.kind).toBeDefined();
    expect(seen).toEqual({ users: [], recipients: [] });
  });

  it('sends nothing to a server with an untrusted certificate', async () => {
    const { seen, port } = await serve(makeCertificate({ hosts: ['127.0.0.1'] }));
    expect((await deliver(port))?.kind).toBe('unreachable');
    expect(seen).toEqual({ users: [], recipients: [] });
  });

  it.each([
    'b@example.com, c@example.com',
    'b@example.com>\r\nRCPT TO:<c@example.com',
    'b@example.com\r\nBcc: c@example.com',
  ])('writes to one person: %j', async (to) => {
    const { seen, port } = await serve(trusted);
    await deliver(port, false, { to });
    expect(seen.recipients).not.toContain('c@example.com');
  });

  it.each([
    ['a line without end', '220-', 'x'.repeat(65_536)],
    ['lines without end', '', '220-more\r\n'.repeat(1000)],
    ['refusals without end', '', '554 canary\r\n'.repeat(1000)],
  ])('ends with a server that says %s, and reads no more than it may keep', async (_what, first, piece) => {
    const pour = (socket: Socket) => {
      const more = () => {
        while (socket.writable && socket.write(piece));
      };
      socket.write(first);
      socket.on('error', () => undefined).on('drain', more);
      more();
    };
    const port = await listen(createTlsServer(trusted, pour).on('tlsClientError', () => undefined));
    const outbound = outboundToLoopback();
    let session: Socket | undefined;
    const connect: Outbound['connect'] = async (target) => (session = await outbound.connect(target));
    const failure = await deliver(port, true, {}, { connect });
    expect(failure?.message).toMatch(/^the mail server did not take the mail: \w+( 554)?$/);
    expect(session!.destroyed).toBe(true);
    expect(session!.bytesRead).toBeLessThan(1.5 * 1_048_576);
  });
});
