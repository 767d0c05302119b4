import { sql, type RawBuilder } from 'kysely';

import { queryBuilder, statement } from '#core/db/query';

export type MailTables = {
  mail_outbox: {
    id: string;
    /** The tenant that asked for it. */
    owner_id: string;
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

/** What is lower goes first; `place` is that of its owner in the array of all. */
const priorities = [
  { priority: sql`0`, place: sql`1` },
  { priority: sql`1`, place: sql`2` },
  { priority: sql`2`, place: sql`3` },
];

type NewMail = Pick<OutboxMail, 'id' | 'owner_id' | 'recipient' | 'subject' | 'body' | 'priority' | 'created_at'>;

/** Nothing where there is one of that id. */
export const insertMail = statement<NewMail, never>((mail) =>
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
      attempts: 0,
      sent_at: null,
      given_up_at: null,
      last_error: null,
    })
    .onConflict((conflict) => conflict.doNothing()),
);

/** The owner of mails that no tenant asked for, such as links to a new password. */
export const noOwner = '00000000-0000-0000-0000-000000000000';

/** For each priority, the most urgent first, the owner whose mail was claimed last. */
type Claiming = { now: string; leaseUntil: string; after: readonly string[] };

/**
 * Leases the next mail that is due, so that no other process sends it meanwhile: of the most urgent ones, that of the next owner
 * after the given one. Steps from owner to owner by the index, however many mails each has.
 */
export const claimNextMail = statement<Claiming, OutboxMail>((p) => {
  const waiting = (priority: RawBuilder<unknown>) =>
    sql`priority = ${priority} and sent_at is null and given_up_at is null`;
  const next = (priority: RawBuilder<unknown>, isAhead: RawBuilder<boolean>) => sql`(with recursive owner as (
      (select owner_id from mail_outbox where ${waiting(priority)} and ${isAhead} order by owner_id limit 1)
      union all
      select further.owner_id from owner cross join lateral (
        select owner_id from mail_outbox where ${waiting(priority)} and owner_id > owner.owner_id order by owner_id limit 1
      ) as further
    )
    select mail.id from owner cross join lateral (
      select id from mail_outbox where ${waiting(priority)} and owner_id = owner.owner_id
        and next_attempt_at <= ${p.now}::timestamptz
      order by next_attempt_at limit 1 for update skip locked
    ) as mail limit 1)`;
  const inOrder = priorities.flatMap(({ priority, place }) => [
    next(priority, sql`owner_id > (${p.after}::uuid[])[${place}]`),
    next(priority, sql`true`),
  ]);
  return {
    compile: () =>
      sql`with chosen as materialized (select id from (${sql.join(inOrder, sql` union all `)}) as due limit 1)
        update mail_outbox set attempts = attempts + 1, next_attempt_at = ${p.leaseUntil}::timestamptz
        where id in (select id from chosen) returning *`.compile(builder),
    execute: () => Promise.resolve([]),
  };
});

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

/** The mail is final: its content is no longer needed. */
export const markMailGivenUp = statement<{ id: string; error: string; at: string }, never>((p) =>
  builder.updateTable('mail_outbox').set({ last_error: p.error, given_up_at: p.at, body: '' }).where('id', '=', p.id),
);

/** Nothing where it was sent already; where it is just being sent, there is no further attempt. */
export const cancelMail = statement<{ ids: readonly string[]; at: string }, never>((p) =>
  builder
    .updateTable('mail_outbox')
    .set({ last_error: 'cancelled', given_up_at: p.at, body: '' })
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
    .where('sent_at', 'is', null)
    .where('given_up_at', 'is', null),
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
