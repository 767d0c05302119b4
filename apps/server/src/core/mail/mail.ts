import nodemailer from 'nodemailer';

import type { Encryption } from '#core/crypto/encryption';
import { newId } from '#core/crypto/ids';
import type { Database } from '#core/db/database';
import type { Query } from '#core/db/query';
import type { Log } from '#core/log/log';
import { claimDueMail, insertMail, markMailFailed, markMailSent, type OutboxMail } from '#core/mail/mail.queries';

/** Mail goes into an outbox with the change that causes it; a relay delivers it afterwards. */
export type Mail = {
  /** The statement that puts a mail into the outbox; run it in the transaction of its cause. */
  compose(mail: { to: string; subject: string; text: string }, at: Date): Query<never>;
  /** Says that something may be in the outbox; delivery happens in the background. */
  wake(): void;
  read(mail: OutboxMail): string;
  close(): Promise<void>;
};

type MailOptions = {
  database: Database;
  encryption: Encryption;
  log: Log;
  now(): Date;
  /** Without one, mail stays in the outbox for the operator to read. */
  smtpUrl: string | undefined;
  from: string;
};

const batchSize = 10;
const leaseMs = 120_000;
const pollMs = 30_000;
const retryMinutes = [1, 5, 15, 60, 240, 720];

export function createMail(options: MailOptions): Mail {
  const { database, encryption } = options;
  const relay = options.smtpUrl === undefined ? undefined : startRelay({ ...options, smtpUrl: options.smtpUrl });
  return {
    compose(mail, at) {
      const id = newId();
      return insertMail({
        id,
        recipient: mail.to,
        subject: mail.subject,
        body: encryption.encrypt(mail.text, placeOf(id)),
        created_at: at.toISOString(),
      });
    },
    wake: () => relay?.wake(),
    read: (mail) => (mail.body === '' ? '' : encryption.decrypt(mail.body, placeOf(mail.id))),
    close: async () => relay?.close(),
  };

  function startRelay(settings: MailOptions & { smtpUrl: string }) {
    const transport = nodemailer.createTransport(settings.smtpUrl, { from: settings.from });
    let running: Promise<void> | undefined;
    let again = false;

    const drain = async (): Promise<void> => {
      do {
        again = false;
        const now = options.now();
        const due = await database
          .platform()
          .slow.all(claimDueMail({ now: now.toISOString(), leaseUntil: later(now, leaseMs), limit: batchSize }));
        for (const mail of due) await deliver(mail);
        again ||= due.length === batchSize;
      } while (again);
    };

    const deliver = async (mail: OutboxMail): Promise<void> => {
      try {
        const text = encryption.decrypt(mail.body, placeOf(mail.id));
        // The same Message-ID on every attempt lets a mail server drop what it already has.
        await transport.sendMail({ to: mail.recipient, subject: mail.subject, text, messageId: `<${mail.id}@atrium>` });
        await database.platform().slow.all(markMailSent({ id: mail.id, at: options.now().toISOString() }));
      } catch (error) {
        const minutes = retryMinutes[Math.min(mail.attempts, retryMinutes.length) - 1] ?? 1;
        const nextAttemptAt = later(options.now(), minutes * 60_000);
        options.log.warn({ err: error, mailId: mail.id, nextAttemptAt }, 'mail could not be delivered');
        const reason = error instanceof Error ? error.message.slice(0, 500) : 'unknown';
        await database.platform().slow.all(markMailFailed({ id: mail.id, error: reason, nextAttemptAt }));
      }
    };

    const wake = () => {
      again = true;
      running ??= drain()
        .catch((error: unknown) => options.log.warn({ err: error }, 'the mail relay could not read the outbox'))
        .finally(() => (running = undefined));
    };
    const timer = setInterval(wake, pollMs).unref();
    wake();
    return {
      wake,
      close: async () => {
        clearInterval(timer);
        await running;
        transport.close();
      },
    };
  }
}

function placeOf(id: string): string {
  return `mail_outbox.body:${id}`;
}

function later(from: Date, ms: number): string {
  return new Date(from.getTime() + ms).toISOString();
}
