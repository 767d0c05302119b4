import { newId } from '#core/base/crypto/ids';
import type { Query } from '#core/data/db/query';
import { insertNotice } from '#modules/notifications/notices/notices.queries';
import type { NoticeRow } from '#modules/notifications/notifications.tables';
import type { Channel, Texts } from '#modules/notifications/notifications.types';

/** A notification of the service itself. */
export type OwnNotice = Texts & {
  tenantId: string;
  userId: string;
  category: string;
  i18n?: NoticeRow['i18n'];
  isCritical?: boolean;
  data?: Record<string, unknown>;
  /** Default: all. */
  channels?: readonly Channel[] | undefined;
};

/**
 * The statement that notifies a user; run it in the transaction of its cause, within the tenant. The fan-out starts soon after
 * the commit, or at once after `wakeNotices`.
 */
export function composeNotice(notice: OwnNotice, at: string): Query<never> {
  const { tenantId, userId, category, title, body, i18n = {}, isCritical = false, data = {}, channels } = notice;
  return insertNotice({
    tenant_id: tenantId,
    id: newId(),
    client_key: null,
    category,
    title,
    body,
    i18n,
    link: null,
    data,
    is_critical: isCritical,
    channels: channels === undefined ? null : [...channels],
    audience: { userIds: [userId] },
    status: 'queued',
    created_by: null,
    last_user_id: null,
    recipients: 0,
    created_at: at,
    completed_at: null,
  });
}
