import { simpleParser } from 'mailparser';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { SMTPServer } from 'smtp-server';
import { onTestFinished } from 'vitest';

import { makeCertificate, type Certificate } from '#core/platform/outbound/testing/certificates';
import type { Account, Fault, Provider } from '#modules/connectors/messaging/adapters/testing/account';

export type MailFake = Account & {
  /** True for TLS from the first byte. */
  tls: boolean;
};

/** Failures that the mail server cannot produce; a proxy in front of it does. */
const faults: Record<Exclude<Fault, 'error'>, (socket: Socket) => void> = {
  cut: (socket) => socket.end(),
  nonsense: (socket) => socket.end('424242 canary\r\n'),
  silence: () => undefined,
};

export type MailProvider = Provider & {
  /** Sets the reply code to all later recipients or mails. */
  refuse(what: 'recipient' | 'mail', reply: number): void;
};

export async function startMailProvider(fake: MailFake): Promise<MailProvider> {
  const replies: { recipient?: number; mail?: number } = {};
  const provider: Omit<Provider, 'origin' | 'fail'> = { taken: [], channels: [], requests: [] };
  let fault: Fault | undefined;
  certificate ??= trustedCertificate();
  const smtp = new SMTPServer({
    ...certificate,
    secure: fake.tls,
    authMethods: ['PLAIN', 'LOGIN'],
    onAuth({ username, password }, _session, done) {
      const { user, password: expected } = fake.credentials;
      if (username === user && password === expected) return done(null, { user: username! });
      return done(Object.assign(new Error('Authentication failed for canary'), { responseCode: 535 }));
    },
    onRcptTo(_address, _session, done) {
      done(replies.recipient === undefined ? null : saying(replies.recipient));
    },
    onData(stream, session, done) {
      void text(stream).then(async (source) => {
        // A fault of its own, which says nothing of the mail.
        if (fault === 'error') return done(saying(451));
        if (replies.mail !== undefined) return done(saying(replies.mail));
        const mail = await simpleParser(source);
        const [recipient] = session.envelope.rcptTo;
        // What ends a mail is its own line break, and no part of the text.
        provider.taken.push({
          to: recipient!.address,
          text: mail.text!.replace(/\n$/, ''),
          subject: mail.subject ?? '',
        });
        provider.channels.push('email');
        return done();
      });
    },
  });
  smtp.on('error', () => undefined);
  const front = createServer((socket) => {
    provider.requests.push(socket.remotePort);
    socket.on('error', () => undefined);
    if (fault !== undefined && fault !== 'error') faults[fault](socket);
    else smtp.server.emit('connection', socket);
  });
  const origin = `${fake.tls ? 'smtps' : 'smtp'}://127.0.0.1:${await listen(front)}`;
  return {
    ...provider,
    origin,
    fail: (how) => void (fault = how),
    refuse: (what, reply) => void (replies[what] = reply),
  };
}

function saying(responseCode: number): Error {
  return Object.assign(new Error('424242 canary'), { responseCode });
}

let certificate: Certificate | undefined;

function trustedCertificate(): Certificate {
  const made = makeCertificate({ hosts: ['127.0.0.1'] });
  setDefaultCACertificates([...getCACertificates('default'), made.cert]);
  return made;
}

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
