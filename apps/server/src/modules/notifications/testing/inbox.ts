import { newId } from '#core/base/crypto/ids';
import type { TestService } from '#test/support/harness';

export const inboxPath = '/api/v1/secure/notifications';

type Whose = { tenantId: string; userId: string };
type Told = {
  category?: string;
  title?: string;
  body?: string;
  i18n?: object;
  link?: string | null;
  data?: object;
  isCritical?: boolean;
  language?: string | null;
  /** Null where it is not in the inbox. */
  inboxAt?: string | null;
};

/** As if the person had been told something: the id of the notification. */
export async function tell(test: TestService, { tenantId, userId }: Whose, told: Told = {}): Promise<string> {
  const { category = 'news', title = 'Title', body = 'Body', i18n = {}, link = null, data = {} } = told;
  const { isCritical = false, language = null, inboxAt = new Date().toISOString() } = told;
  const [noticeId, id] = [newId(), newId()];
  await test.service.services.database.tenant(tenantId).interactive.batch([
    {
      kind: 'write',
      text: `insert into notices (tenant_id, id, category, title, body, i18n, link, data, is_critical, audience, status, recipients, created_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, '{"everyone":true}', 'done', 1, now())`,
      values: [tenantId, noticeId, category, title, body, i18n, link, data, isCritical],
      prepare: false,
    },
    {
      kind: 'write',
      text: `insert into notifications (tenant_id, id, notice_id, user_id, category, language, created_at, inbox_at)
             values ($1, $2, $3, $4, $5, $6, now(), $7)`,
      values: [tenantId, id, noticeId, userId, category, language, inboxAt],
      prepare: false,
    },
  ]);
  return id;
}
