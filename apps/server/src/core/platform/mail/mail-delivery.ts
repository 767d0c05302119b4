import type { Socket } from 'node:net';
import nodemailer from 'nodemailer';

import { OutboundError, type Outbound } from '#core/platform/outbound/outbound';
import type { MailTarget } from '#core/platform/outbound/target';

/** A mail server of others, and as whom to log in there; TLS is never left out. */
export type MailServer = MailTarget & { user: string; password: string };

export type OutgoingMail = {
  from: string;
  /** One address. */
  to: string;
  subject: string;
  text: string;
  /** The same for the same mail, so that a server may drop what it already has. */
  messageId: string;
};

/** The server did not take the mail. Never in its own words, which may repeat what was sent. */
export class MailNotTaken extends Error {
  /** `refused`: this recipient or this mail, which says nothing of the next. */
  readonly kind: 'unreachable' | 'credentials' | 'answer' | 'refused';
  /** It may take the same mail another time (RFC 5321 section 4.2.1: 4yz). */
  readonly mayPass: boolean;

  constructor(
    kind: MailNotTaken['kind'],
    reason: string,
    { cause, mayPass = false }: { cause?: unknown; mayPass?: boolean } = {},
  ) {
    super(`the mail server did not take the mail: ${reason}`, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.mayPass = mayPass;
  }
}

/** Hands one mail to a server that a tenant configured. @throws MailNotTaken */
export async function deliverMail(
  outbound: Pick<Outbound, 'connect'>,
  server: MailServer,
  mail: OutgoingMail,
  signal: AbortSignal,
): Promise<void> {
  const { host, port, tls, user, password } = server;
  let session: Socket | undefined;
  const transport = nodemailer.createTransport({
    host,
    port,
    secure: tls,
    requireTLS: true,
    auth: { user, pass: password },
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket(_options, callback) {
      outbound.connect({ host, port, tls, signal }).then(
        (connection) => callback(null, { connection: (session = connection), secured: tls }),
        (error: unknown) => callback(error as Error, false),
      );
    },
  });
  const { to, ...rest } = mail;
  try {
    // As an object, for a text may name several people.
    await transport.sendMail({ ...rest, to: { name: '', address: to }, textEncoding: 'base64', signal });
  } catch (error) {
    // To end it would wait for the server and read what it goes on sending.
    session?.destroy();
    throw toNotTaken(error);
  } finally {
    transport.close();
  }
}

/** The meaning of an error of nodemailer for a mail. */
export function toNotTaken(error: unknown): MailNotTaken {
  if (error instanceof OutboundError) return new MailNotTaken('unreachable', 'no connection', { cause: error });
  const { code = 'unknown', responseCode: reply = 0, command = '' } = error as SmtpError;
  // A text that is not a reply of RFC 5321 may be anything that the server chose to send.
  const isReply = reply >= 400 && reply < 600;
  const reason = isReply ? `${code} ${reply}` : code;
  if (code === 'EAUTH') return new MailNotTaken('credentials', reason);
  if (!isReply) return new MailNotTaken('unreachable', reason);
  // 421 always ends the session.
  const kind = ofOneMail.has(command) && reply !== 421 ? 'refused' : 'answer';
  return new MailNotTaken(kind, reason, { mayPass: reply < 500 });
}

/** As nodemailer throws it; `command` is what was answered. */
type SmtpError = { code?: string; responseCode?: number; command?: string };

const ofOneMail: ReadonlySet<string> = new Set(['RCPT TO', 'DATA']);
