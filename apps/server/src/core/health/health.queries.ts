import { sql } from 'kysely';

import { queryBuilder, statement, type Query } from '#core/db/query';
import type { MailTables } from '#core/mail/mail.queries';

const builder = queryBuilder<MailTables>();

export const signOfLife: Query<{ alive: number }> = { text: 'select 1 as alive', values: [], prepare: true };

/** Whether any mail has been due since before that instant and nobody has tried to deliver it. */
export const hasOverdueMail = statement<{ dueBefore: string }, { overdue: boolean }>((p) =>
  builder.selectNoFrom((db) =>
    db
      .exists(
        db
          .selectFrom('mail_outbox')
          .select(sql`1`.as('one'))
          .where('sent_at', 'is', null)
          .where('given_up_at', 'is', null)
          .where('next_attempt_at', '<', p.dueBefore),
      )
      .$castTo<boolean>()
      .as('overdue'),
  ),
);
