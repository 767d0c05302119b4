import type { Query } from '#core/data/db/query';
import { composeNotice } from '#modules/notifications/notices/own-notices';
import type { Channel } from '#modules/notifications/notifications.types';
import { describeBrowser } from '#modules/notifications/security/browsers.rules';
import { textsOf, type SecurityEvent } from '#modules/notifications/security/security-texts';

const categories: Record<SecurityEvent, string> = {
  login: 'security.login',
  factor_enabled: 'security.factors',
  factor_disabled: 'security.factors',
  factors_reset: 'security.factors',
  backup_codes_replaced: 'security.factors',
  api_key_created: 'security.api_keys',
  api_key_rotated: 'security.api_keys',
};

export type SecurityNotice = {
  tenantId: string;
  userId: string;
  event: SecurityEvent;
  /** The affected object: the method of a factor, or the name of a key. */
  subject?: string;
  request: { ip: string; userAgent: string | null };
  /** Default: all; fewer if a channel would duplicate another message. */
  channels?: readonly Channel[];
};

/**
 * The statement that notifies a user of a security event; run it in the transaction of the event, within the tenant,
 * and before its audit rows.
 */
export function securityNotice(notice: SecurityNotice, at: string): Query<never> {
  const { tenantId, userId, event, subject = '', request, channels } = notice;
  const facts = { subject, ip: request.ip, browser: describeBrowser(request.userAgent), at };
  const { en, ...i18n } = textsOf(event, facts);
  return composeNotice(
    { tenantId, userId, category: categories[event], ...en, i18n, isCritical: true, channels, data: { event } },
    at,
  );
}
