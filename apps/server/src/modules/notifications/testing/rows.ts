import { randomBytes } from 'node:crypto';
import type pg from 'pg';

import { newId } from '#core/base/crypto/ids';
import { unique } from '#test/support/factories';

/** A row in each table of the module: a user was sent a notification, and has a preference and a browser. */
export async function insertNotificationRows(
  client: pg.ClientBase,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<{ notice: string; notification: string; notificationPreference: string; pushSubscription: string }> {
  const [notice, notification, pushSubscription] = [newId(), newId(), newId()];
  const notificationPreference = newId();
  await client.query(
    `insert into notices (tenant_id, id, category, title, body, i18n, data, is_critical, audience, status, created_by, recipients, created_at, completed_at)
     values ($1, $2, 'news', $3, '', '{}', '{}', false, '{"everyone":true}', 'done', $4, 1, now(), now())`,
    [tenantId, notice, `secret of ${tenantId}`, userId],
  );
  await client.query(
    `insert into notifications (tenant_id, id, notice_id, user_id, category, created_at, inbox_at)
     values ($1, $2, $3, $4, 'news', now(), now())`,
    [tenantId, notification, notice, userId],
  );
  await client.query(
    `insert into notification_deliveries (tenant_id, id, notification_id, notice_id, user_id, category, is_critical, channel, status,
       reason, layer, due_at, attempts, interruptions, created_at, updated_at)
     values ($1, $2, $3, $4, $5, 'news', false, 'email', 'sent', 'delivered', 'built_in', now(), 1, 0, now(), now())`,
    [tenantId, newId(), notification, notice, userId],
  );
  await client.query(
    `insert into notification_preferences (tenant_id, id, user_id, scope, category, channel, enabled, quiet_hours, rules, created_at, updated_at)
     values ($1, $2, $3, 'user_override', $4, 'sms', true, '{}', '{}', now(), now())`,
    [tenantId, notificationPreference, userId, unique('sample')],
  );
  await client.query(
    `insert into push_subscriptions (tenant_id, id, user_id, endpoint_hash, origin, sealed, created_at)
     values ($1, $2, $3, $4, 'https://push.example.com', '', now())`,
    [tenantId, pushSubscription, userId, randomBytes(32)],
  );
  return { notice, notification, notificationPreference, pushSubscription };
}
