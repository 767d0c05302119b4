import { sql, type RawBuilder } from 'kysely';

import { databaseNow, fromNow } from '#core/data/db/lease';
import { nilId } from '#core/data/db/nil-id';
import { queryBuilder, read, write } from '#core/data/db/query';

export type MailTables = {
  mail_outbox: {
    id: string;
    /** The tenant that asked for it. */
    owner_id: string;
    recipient: string;
    subject: string;
    body: string;
    /** Lower values are sent first. */
    priority: number;
    created_at: string;
    attempts: number;
    /** End of the claim or of the backoff: one column, so that one index finds both. */
    next_attempt_at: string;
    /** False during a claim and until the next attempt after a failure. */
    queued: boolean;
    expires_at: string | null;
    sent_at: string | null;
    given_up_at: string | null;
    last_error: string | null;
  };
};

export type OutboxMail = MailTables['mail_outbox'];

const builder = queryBuilder<MailTables>();

/** What is lower goes first; `place` is that of its owner in the array of all. */
const priorities = [
  { priority: sql`0`, place: sql`1` },
  { priority: sql`1`, place: sql`2` },
  { priority: sql`2`, place: sql`3` },
];

type NewMail = Pick<
  OutboxMail,
  'id' | 'owner_id' | 'recipient' | 'subject' | 'body' | 'priority' | 'created_at' | 'expires_at'
>;

/** Nothing where there is one of that id. */
export const insertMail = write<NewMail, never>((mail) =>
  builder
    .insertInto('mail_outbox')
    .values({
      id: mail.id,
      owner_id: mail.owner_id,
      recipient: mail.recipient,
      subject: mail.subject,
      body: mail.body,
      priority: mail.priority,
      created_at: mail.created_at,
      next_attempt_at: mail.created_at,
      queued: true,
      attempts: 0,
      expires_at: mail.expires_at,
      sent_at: null,
      given_up_at: null,
      last_error: null,
    })
    .onConflict((conflict) => conflict.doNothing()),
);

/** The owner of mails that no tenant asked for, such as links to a new password. */
export const noOwner = nilId;

const isWaiting = sql`sent_at is null and given_up_at is null`;

/** Puts mails whose retry delay or claim has ended back into the queue, the oldest first. */
export const queueDueMail = write<{ max: number }, never>((p) =>
  builder
    .updateTable('mail_outbox')
    .set({ queued: true })
    .where(
      'id',
      'in',
      sql<string>`(select id from mail_outbox where not queued and ${isWaiting} and next_attempt_at <= ${databaseNow}
        order by next_attempt_at limit ${p.max} for update skip locked)`,
    ),
);

/** `after`: for each priority, the most urgent first, the owner whose mail was claimed last. */
type Claiming = { leaseMs: number; after: readonly string[] };

/**
 * Claims a queued mail, so that no other process sends it meanwhile: among the most urgent mails, the oldest of the next owner
 * after the given one. Costs one index lookup, however many owners and mails wait.
 */
export const claimNextMail = write<Claiming, OutboxMail>((p) => {
  const next = (priority: RawBuilder<unknown>, isAhead: RawBuilder<boolean>) => sql`select id from (
    select id from mail_outbox where priority = ${priority} and queued and ${isWaiting} and ${isAhead}
    order by owner_id, next_attempt_at limit 1 for update skip locked) as mail`;
  const inOrder = priorities.flatMap(({ priority, place }) => [
    next(priority, sql`owner_id > (${p.after}::uuid[])[${place}]`),
    next(priority, sql`true`),
  ]);
  return sql`with chosen as materialized (select id from (${sql.join(inOrder, sql` union all `)}) as due limit 1)
        update mail_outbox set attempts = attempts + 1, queued = false, next_attempt_at = ${fromNow(p.leaseMs)}
        where id in (select id from chosen) returning *`;
});

/** The text goes with the delivery: it may carry a one-time link. */
export const markMailSent = write<{ id: string; at: string }, never>((p) =>
  builder.updateTable('mail_outbox').set({ sent_at: p.at, body: '', last_error: null }).where('id', '=', p.id),
);

export const markMailFailed = write<{ id: string; error: string; pauseMs: number }, never>((p) =>
  builder
    .updateTable('mail_outbox')
    .set({ last_error: p.error, queued: false, next_attempt_at: fromNow(p.pauseMs) })
    .where('id', '=', p.id),
);

/** The mail is final: its content is no longer needed. */
export const markMailGivenUp = write<{ id: string; error: string; at: string }, never>((p) =>
  builder.updateTable('mail_outbox').set({ last_error: p.error, given_up_at: p.at, body: '' }).where('id', '=', p.id),
);

/** Nothing where it was sent already; where it is just being sent, there is no further attempt. */
export const cancelMail = write<{ ids: readonly string[]; at: string }, never>((p) =>
  builder
    .updateTable('mail_outbox')
    .set({ last_error: 'cancelled', given_up_at: p.at, body: '' })
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
    .where('sent_at', 'is', null)
    .where('given_up_at', 'is', null),
);

/** Housekeeping: mails that were delivered, or given up, long ago. */
export const deleteDeliveredMail = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('mail_outbox')
    .where('id', 'in', (db) =>
      db
        .selectFrom('mail_outbox')
        .select('id')
        .where((where) => where.or([where('sent_at', '<', p.before), where('given_up_at', '<', p.before)]))
        .limit(p.max),
    )
    .returning(sql<number>`1`.as('deleted')),
);

export const listMail = read<{ limit: number; offset: number }, OutboxMail>((p) =>
  builder.selectFrom('mail_outbox').selectAll().orderBy('id', 'desc').limit(p.limit).offset(p.offset),
);

/** Number of mails, counted up to `max`. */
export const countMail = read<{ max: number }, { total: number }>((p) =>
  builder
    .selectFrom(builder.selectFrom('mail_outbox').select('id').limit(p.max).as('some'))
    .select(sql<number>`count(*)`.as('total')),
);
