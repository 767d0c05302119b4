import { sql } from 'kysely';

import { queryBuilder, statement } from '#core/db/query';

export type MailTables = {
  mail_outbox: {
    id: string;
    recipient: string;
    subject: string;
    body: string;
    /** What is lower goes first. */
    priority: number;
    created_at: string;
    attempts: number;
    next_attempt_at: string;
    sent_at: string | null;
    given_up_at: string | null;
    last_error: string | null;
  };
};

export type OutboxMail = MailTables['mail_outbox'];

const builder = queryBuilder<MailTables>();

type NewMail = Pick<OutboxMail, 'id' | 'recipient' | 'subject' | 'body' | 'priority' | 'created_at'>;

/** Nothing where there is one of that id. */
export const insertMail = statement<NewMail, never>((mail) =>
  builder
    .insertInto('mail_outbox')
    .values({
      id: mail.id,
      recipient: mail.recipient,
      subject: mail.subject,
      body: mail.body,
      priority: mail.priority,
      created_at: mail.created_at,
      next_attempt_at: mail.created_at,
      attempts: 0,
      sent_at: null,
      given_up_at: null,
      last_error: null,
    })
    .onConflict((conflict) => conflict.doNothing()),
);

/** Takes what is due, the most urgent first, and leases it, so that nobody else sends the same mail meanwhile. */
export const claimDueMail = statement<{ now: string; leaseUntil: string; limit: number }, OutboxMail>((p) =>
  builder
    .updateTable('mail_outbox')
    .set({ attempts: sql`attempts + 1`, next_attempt_at: p.leaseUntil })
    .where('id', 'in', (db) =>
      db
        .selectFrom('mail_outbox')
        .select('id')
        .where('sent_at', 'is', null)
        .where('given_up_at', 'is', null)
        .where('next_attempt_at', '<=', p.now)
        .orderBy('priority')
        .orderBy('next_attempt_at')
        .limit(p.limit)
        .forUpdate()
        .skipLocked(),
    )
    .returningAll(),
);

/** The text goes with the delivery: it may carry a one-time link. */
export const markMailSent = statement<{ id: string; at: string }, never>((p) =>
  builder.updateTable('mail_outbox').set({ sent_at: p.at, body: '', last_error: null }).where('id', '=', p.id),
);

export const markMailFailed = statement<{ id: string; error: string; nextAttemptAt: string }, never>((p) =>
  builder
    .updateTable('mail_outbox')
    .set({ last_error: p.error, next_attempt_at: p.nextAttemptAt })
    .where('id', '=', p.id),
);

/** Nobody will get it any more, nor read what it said. */
export const markMailGivenUp = statement<{ id: string; error: string; at: string }, never>((p) =>
  builder.updateTable('mail_outbox').set({ last_error: p.error, given_up_at: p.at, body: '' }).where('id', '=', p.id),
);

/** Housekeeping: mails that were delivered, or given up, long ago. */
export const deleteDeliveredMail = statement<{ before: string; most: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('mail_outbox')
    .where('id', 'in', (db) =>
      db
        .selectFrom('mail_outbox')
        .select('id')
        .where((where) => where.or([where('sent_at', '<', p.before), where('given_up_at', '<', p.before)]))
        .limit(p.most),
    )
    .returning(sql<number>`1`.as('deleted')),
);

export const listMail = statement<{ limit: number; offset: number }, OutboxMail>((p) =>
  builder.selectFrom('mail_outbox').selectAll().orderBy('id', 'desc').limit(p.limit).offset(p.offset),
);

/** How many mails there are, counted no further than `most`. */
export const countMail = statement<{ most: number }, { total: number }>((p) =>
  builder
    .selectFrom(builder.selectFrom('mail_outbox').select('id').limit(p.most).as('some'))
    .select(sql<number>`count(*)`.as('total')),
);
