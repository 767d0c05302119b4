import nodemailer, { type Transporter } from 'nodemailer';

import type { Encryption } from '#core/crypto/encryption';
import { newId } from '#core/crypto/ids';
import type { Database } from '#core/db/database';
import type { Query } from '#core/db/query';
import type { Statements } from '#core/db/scopes';
import type { Log } from '#core/log/log';
import { claimDueMail, insertMail, markMailFailed, markMailSent, type OutboxMail } from '#core/mail/mail.queries';

/** Mail goes into an outbox with the change that causes it; a relay delivers it afterwards. */
export type Mail = {
  /** False while no mail server is configured: then mail only waits for the operator to read it. */
  readonly canDeliver: boolean;
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
/** Ten mails at their slowest still fit into the lease. */
const patience = { connectionTimeout: 4000, greetingTimeout: 4000, socketTimeout: 8000 };
const retryMinutes = [1, 5, 15, 60, 240, 720];

export function createMail(options: MailOptions): Mail {
  const { encryption, smtpUrl } = options;
  const relay = smtpUrl === undefined ? undefined : new Relay(options, smtpUrl);
  return {
    canDeliver: relay !== undefined,
    compose(mail, at) {
      const id = newId();
      return insertMail({
        id,
        recipient: mail.to,
        subject: mail.subject.replaceAll(/\p{Cc}+/gu, ' '),
        body: encryption.encrypt(mail.text, placeOf(id)),
        created_at: at.toISOString(),
      });
    },
    wake: () => relay?.wake(),
    read: (mail) => (mail.body === '' ? '' : encryption.decrypt(mail.body, placeOf(mail.id))),
    close: async () => relay?.close(),
  };
}

/** Carries mail from the outbox to the mail server; any number of processes may do so at once. */
class Relay {
  readonly #options: MailOptions;
  readonly #transport: Transporter;
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;
  #again = false;

  constructor(options: MailOptions, smtpUrl: string) {
    this.#options = options;
    this.#transport = nodemailer.createTransport({ url: smtpUrl, ...patience }, { from: options.from });
    this.#timer = setInterval(() => this.wake(), pollMs).unref();
    this.wake();
  }

  wake(): void {
    this.#again = true;
    this.#running ??= this.#drain()
      .catch((error: unknown) => this.#options.log.warn({ err: error }, 'the mail relay could not read the outbox'))
      .finally(() => (this.#running = undefined));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    this.#transport.close();
  }

  async #drain(): Promise<void> {
    do {
      this.#again = false;
      const now = this.#options.now();
      const claim = claimDueMail({ now: now.toISOString(), leaseUntil: later(now, leaseMs), limit: batchSize });
      const due = await this.#outbox.all(claim);
      for (const mail of due) await this.#deliver(mail);
      this.#again ||= due.length === batchSize;
    } while (this.#again);
  }

  async #deliver(mail: OutboxMail): Promise<void> {
    const { encryption, log, now } = this.#options;
    try {
      const text = encryption.decrypt(mail.body, placeOf(mail.id));
      // The same Message-ID on every attempt lets a mail server drop what it already has.
      const messageId = `<${mail.id}@atrium>`;
      await this.#transport.sendMail({ to: mail.recipient, subject: mail.subject, text, messageId });
      await this.#outbox.all(markMailSent({ id: mail.id, at: now().toISOString() }));
    } catch (error) {
      const minutes = retryMinutes[Math.min(mail.attempts, retryMinutes.length) - 1] ?? 1;
      const nextAttemptAt = later(now(), minutes * 60_000);
      log.warn({ err: error, mailId: mail.id, nextAttemptAt }, 'mail could not be delivered');
      const reason = error instanceof Error ? error.message.slice(0, 500) : 'unknown';
      await this.#outbox.all(markMailFailed({ id: mail.id, error: reason, nextAttemptAt }));
    }
  }

  get #outbox(): Statements {
    return this.#options.database.platform().slow;
  }
}

function placeOf(id: string): string {
  return `mail_outbox.body:${id}`;
}

function later(from: Date, ms: number): string {
  return new Date(from.getTime() + ms).toISOString();
}
