import Type, { type Static } from 'typebox';

import type { Actor } from '#core/base/access/principal';
import { Timestamp, Uuid, closed, nullable, pageOf, paging } from '#core/base/schemas';
import { auditEvent } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { exactTotalLimit, totalOfPage } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import { countMail, listMail } from '#core/platform/mail/mail.queries';
import type { Services } from '#core/platform/services';

type Dependencies = Pick<Services, 'database' | 'mail' | 'now'>;

export const MailOutboxQuery = Type.Object(paging);
export type MailOutboxQuery = Static<typeof MailOutboxQuery>;

export const MailOutbox = pageOf(
  closed(
    {
      id: Uuid,
      recipient: Type.String({ description: 'E-mail address of the recipient.' }),
      subject: Type.String({ description: 'Subject of the mail.' }),
      text: Type.String({ description: 'Text of the mail; empty after it was delivered or given up.' }),
      created_at: Timestamp,
      sent_at: nullable(Timestamp, { description: 'Delivery time (RFC 3339, UTC); null if not delivered.' }),
      given_up_at: nullable(Timestamp, {
        description: 'Time at which delivery was given up (RFC 3339, UTC); null if it was not.',
      }),
      attempts: Type.Integer({ description: 'Number of delivery attempts.' }),
      last_error: nullable(Type.String(), {
        description: 'Error of the latest attempt; null without a failed attempt.',
      }),
    },
    { title: 'OutboxMail' },
  ),
);

/** The outbox, newest first, with undelivered texts; the audit trail records each read. */
export async function listOutbox(
  { services, actor, db, setHeader }: { services: Dependencies; actor: Actor; db: TenantDb; setHeader: SetHeader },
  query: MailOutboxQuery,
) {
  const at = services.now().toISOString();
  await db.interactive.batch([auditEvent(actor, at, { action: 'mail_outbox.read', resourceType: 'mail_outbox' })]);
  const { limit = 50, offset = 0 } = query;
  const { interactive } = services.database.platform();
  const [rows, [counted]] = await interactive.batch([
    listMail({ limit, offset }),
    countMail({ max: exactTotalLimit + 1 }),
  ]);
  const data = rows.map((row) => ({
    id: row.id,
    recipient: row.recipient,
    subject: row.subject,
    text: services.mail.read(row),
    created_at: row.created_at,
    sent_at: row.sent_at,
    given_up_at: row.given_up_at,
    attempts: row.attempts,
    last_error: row.last_error,
  }));
  return toPage(
    data,
    { limit, offset },
    totalOfPage(counted!.total, { limit, offset, rowCount: rows.length }),
    setHeader,
  );
}
