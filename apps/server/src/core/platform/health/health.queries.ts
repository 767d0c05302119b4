import { sql } from 'kysely';

import { queryBuilder, read, type ReadStatement } from '#core/data/db/query';
import type { MailTables } from '#core/platform/mail/mail.queries';

const builder = queryBuilder<MailTables>();

/** Answered by any server that works; a standby takes no writes. */
export const checkStandby: ReadStatement<{ is_standby: boolean }> = {
  kind: 'read',
  text: 'select pg_is_in_recovery() as is_standby',
  values: [],
  prepare: true,
};

/** Whether any mail has been due since before that instant without a delivery attempt. */
export const hasOverdueMail = read<{ dueBefore: string }, { overdue: boolean }>((p) => {
  // One lookup for each of the two partial indexes.
  const isOverdue = (queued: boolean) => {
    const mails = builder
      .selectFrom('mail_outbox')
      .select(sql`1`.as('one'))
      .where(queued ? sql<boolean>`queued` : sql<boolean>`not queued`)
      .where('sent_at', 'is', null)
      .where('given_up_at', 'is', null)
      .where('next_attempt_at', '<', p.dueBefore);
    return sql<boolean>`exists (${mails})`;
  };
  return builder.selectNoFrom(sql<boolean>`${isOverdue(true)} or ${isOverdue(false)}`.as('overdue'));
});
