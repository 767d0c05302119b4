import { defineModule } from '#core/http/route';
import { carriers } from '#modules/notifications/channels/carriers';
import { deliveryRoutes } from '#modules/notifications/deliveries/deliveries.routes';
import { deliverBy } from '#modules/notifications/deliveries/delivering';
import { inboxRoutes } from '#modules/notifications/inbox/inbox.routes';
import { forgetNotifications, sweepNotifications } from '#modules/notifications/jobs';
import { tellNotices } from '#modules/notifications/notices/expansion';
import { noticeRoutes } from '#modules/notifications/notices/notices.routes';
import { preferenceRoutes } from '#modules/notifications/preferences/preferences.routes';
import { pushRoutes } from '#modules/notifications/push/push.routes';

export { wakeNotices } from '#modules/notifications/notices/wake';
export { removePreferencesOf } from '#modules/notifications/preferences/preferences.service';
export { removeSubscriptionsOf } from '#modules/notifications/push/subscriptions.service';
export { securityNotice } from '#modules/notifications/security/security-notices';

/** What people are told, over which channels, and why or why not. */
export const notificationsModule = defineModule({
  name: 'notifications',
  description: 'What people are told, over which channels, and why or why not',
  routes: [...preferenceRoutes, ...inboxRoutes, ...pushRoutes, ...noticeRoutes, ...deliveryRoutes],
  jobs: [sweepNotifications, forgetNotifications],
  work: [tellNotices(), deliverBy(carriers)],
});
