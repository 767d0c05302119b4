import nodemailer, { type Transporter } from 'nodemailer';

import { retryAfter, retryPausesMs } from '#core/base/backoff.rules';
import type { Encryption } from '#core/base/crypto/encryption';
import { newId } from '#core/base/crypto/ids';
import type { Database } from '#core/data/db/database';
import type { Query } from '#core/data/db/query';
import type { Statements } from '#core/data/db/scopes';
import type { Log } from '#core/data/log/log';
import { toNotTaken } from '#core/platform/mail/mail-delivery';
import {
  cancelMail,
  claimNextMail,
  queueDueMail,
  insertMail,
  markMailFailed,
  markMailGivenUp,
  markMailSent,
  noOwner,
  type OutboxMail,
} from '#core/platform/mail/mail.queries';

/** Delivery order: a user waits for a code or a link, while thousands may get the same notice. */
const priorities = { awaited: 0, critical: 1, notice: 2 } as const;

/** Mail goes into an outbox with the change that causes it; a relay delivers it afterwards. */
export type Mail = {
  /** False while no mail server is configured: then mail only waits for the operator to read it. */
  readonly canDeliver: boolean;
  /** Sender: an address, or a name and an address in angle brackets. */
  readonly from: string;
  /**
   * The statement that puts a mail into the outbox; run it in the transaction of its cause. With an id it does nothing where a
   * mail of that id has been put there before. The default priority is the highest: a user waits for the mail.
   */
  compose(mail: NewMail, at: Date): Query<never>;
  /** Mails that are not under way yet are never sent; call it after the commit of what makes them void. */
  cancel(ids: readonly string[]): Promise<void>;
  /** Says that something may be in the outbox; delivery happens in the background. */
  wake(): void;
  read(mail: OutboxMail): string;
  close(): Promise<void>;
};

type NewMail = {
  to: string;
  subject: string;
  text: string;
  id?: string;
  priority?: keyof typeof priorities;
  /** The tenant that asked for the mail: tenants take equal shares of the delivery. */
  tenantId?: string;
  /** When its link or code expires: it is not sent afterwards. */
  expiresAt?: string;
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

const atOnce = 5;
const leaseMs = 120_000;
const pollMs = 30_000;
/** Mails that one claim puts back into the queue: more than it takes out, so the queue catches up. */
const maxQueued = 100;
/** A mail at its slowest fits into the lease, and a connection without mail is closed before it times out. */
const timeouts = { connectionTimeout: 4000, greetingTimeout: 4000, socketTimeout: 8000, idleTimeout: 5000 };
const pool = { pool: true, maxConnections: atOnce, maxRequeues: 1 } as const;
const giveUpMs = 7 * 24 * 60 * 60_000;

export function createMail(options: MailOptions): Mail {
  const { encryption, smtpUrl } = options;
  const relay = smtpUrl === undefined ? undefined : new Relay(options, smtpUrl);
  return {
    canDeliver: relay !== undefined,
    from: options.from,
    compose({ id = newId(), priority = 'awaited', tenantId = noOwner, expiresAt, ...mail }, at) {
      return insertMail({
        id,
        owner_id: tenantId,
        recipient: mail.to,
        subject: mail.subject.replaceAll(/\p{Cc}+/gu, ' '),
        body: encryption.encrypt(mail.text, placeOf(id)),
        priority: priorities[priority],
        created_at: at.toISOString(),
        expires_at: expiresAt ?? null,
      });
    },
    async cancel(ids) {
      if (ids.length === 0) return;
      await options.database.platform().interactive.all(cancelMail({ ids, at: options.now().toISOString() }));
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
  readonly #workers = new Set<Promise<void>>();
  /** Mails that this process is handing over: a lease that expires meanwhile, for example after a clock jump, must not send twice. */
  readonly #underWay = new Set<string>();
  /** The tenant whose mail was claimed last, for each priority. */
  readonly #lastOwners = [noOwner, noOwner, noOwner];
  #running = 0;
  #wakes = 0;
  #isClosed = false;

  constructor(options: MailOptions, smtpUrl: string) {
    this.#options = options;
    this.#transport = nodemailer.createTransport({ url: smtpUrl, ...pool, ...timeouts }, { from: options.from });
    this.#timer = setInterval(() => this.wake(), pollMs).unref();
    this.wake();
  }

  wake(): void {
    this.#wakes += 1;
    this.#startWorker();
  }

  /** Remaining mail waits for another process, or the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await Promise.all(this.#workers);
    this.#transport.close();
  }

  #startWorker(): void {
    if (this.#isClosed || this.#running >= atOnce) return;
    this.#running += 1;
    const run = this.#drain().catch((error: unknown) =>
      this.#options.log.warn({ err: error }, 'the mail relay could not read the outbox'),
    );
    this.#workers.add(run);
    void run.then(() => this.#workers.delete(run));
  }

  /** One mail after the other, each of them the most urgent by then; while there are more, other workers start. */
  async #drain(): Promise<void> {
    try {
      while (!this.#isClosed) {
        const wakes = this.#wakes;
        const claim = claimNextMail({ leaseMs, after: this.#lastOwners });
        const [, [mail]] = await this.#outbox.batch([queueDueMail({ max: maxQueued }), claim]);
        // What came in while it looked, it may not have seen.
        if (mail === undefined && wakes === this.#wakes) return;
        if (mail === undefined) continue;
        this.#lastOwners[mail.priority] = mail.owner_id;
        if (this.#underWay.has(mail.id)) continue;
        this.#underWay.add(mail.id);
        this.#startWorker();
        await this.#deliver(mail).finally(() => this.#underWay.delete(mail.id));
      }
    } finally {
      this.#running -= 1;
    }
  }

  async #deliver(mail: OutboxMail): Promise<void> {
    const { encryption, now } = this.#options;
    const at = now();
    if (mail.expires_at !== null && Date.parse(mail.expires_at) <= at.getTime()) {
      await this.#outbox.all(markMailGivenUp({ id: mail.id, error: 'expired', at: at.toISOString() }));
      return;
    }
    try {
      const text = encryption.decrypt(mail.body, placeOf(mail.id));
      // The same Message-ID on every attempt lets a mail server drop what it already has.
      const messageId = `<${mail.id}@atrium>`;
      await this.#transport.sendMail({ to: mail.recipient, subject: mail.subject, text, messageId });
      await this.#outbox.all(markMailSent({ id: mail.id, at: now().toISOString() }));
    } catch (error) {
      await this.#fail(mail, error);
    }
  }

  async #fail(mail: OutboxMail, error: unknown): Promise<void> {
    const { log, now } = this.#options;
    const at = now();
    const { id, attempts } = mail;
    const reason = error instanceof Error ? error.message.slice(0, 500) : 'unknown';
    if (isForGood(mail, error, at)) {
      log.warn({ err: error, mailId: id }, 'mail failed for the last time');
      await this.#outbox.all(markMailGivenUp({ id, error: reason, at: at.toISOString() }));
      return;
    }
    const pauseMs = retryAfter(attempts) ?? retryPausesMs.at(-1)!;
    log.warn({ err: error, mailId: id, pauseMs }, 'mail could not be delivered');
    await this.#outbox.all(markMailFailed({ id, error: reason, pauseMs }));
  }

  get #outbox(): Statements {
    return this.#options.database.platform().interactive;
  }
}

/** Refused for its recipient or its text, which stays so, or tried for too long. */
function isForGood({ created_at: createdAt }: OutboxMail, error: unknown, at: Date): boolean {
  const { kind, mayPass } = toNotTaken(error);
  return (kind === 'refused' && !mayPass) || at.getTime() - Date.parse(createdAt) >= giveUpMs;
}

function placeOf(id: string): string {
  return `mail_outbox.body:${id}`;
}
