import Type, { type Static } from 'typebox';

import { auditEvent } from '#core/audit/audit.queries';
import type { Actor } from '#core/access/principal';
import type { TenantDb } from '#core/db/scopes';
import { exactTotalLimit, totalOfPage } from '#core/db/totals';
import { Timestamp, Uuid, closed, nullable, pageOf, paging } from '#core/http/schemas';
import { toPage } from '#core/http/paging';
import { countMail, listMail } from '#core/mail/mail.queries';
import type { Services } from '#core/services';

export const MailOutboxQuery = Type.Object(paging);
export type MailOutboxQuery = Static<typeof MailOutboxQuery>;

export const MailOutbox = pageOf(
  closed(
    {
      id: Uuid,
      recipient: Type.String(),
      subject: Type.String(),
      text: Type.String({ description: 'Empty once the mail was delivered or given up.' }),
      created_at: Timestamp,
      sent_at: nullable(Timestamp),
      given_up_at: nullable(Timestamp),
      attempts: Type.Integer(),
      last_error: nullable(Type.String()),
    },
    { title: 'OutboxMail' },
  ),
);

/** The outbox, newest first, with the texts that were not delivered. Reading it is itself recorded. */
export async function listOutbox(
  {
    services,
    actor,
    db,
    setHeader,
  }: { services: Services; actor: Actor; db: TenantDb; setHeader(name: string, value: string): void },
  query: MailOutboxQuery,
) {
  const at = services.now().toISOString();
  await db.slow.flight([auditEvent(actor, at, { action: 'mail_outbox.read', resourceType: 'mail_outbox' })]);
  const { limit = 50, offset = 0 } = query;
  const { slow } = services.database.platform();
  const [rows, [counted]] = await slow.flight([listMail({ limit, offset }), countMail({ most: exactTotalLimit + 1 })]);
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
