import { defineModule } from '#core/http/route';
import { deliveryRoutes } from '#modules/notifications/deliveries/deliveries.routes';
import { inboxRoutes } from '#modules/notifications/inbox/inbox.routes';
import { noticeRoutes } from '#modules/notifications/notices/notices.routes';
import { forgetNotifications, notificationTasks, sweepNotifications } from '#modules/notifications/notifications.jobs';
import { preferenceRoutes } from '#modules/notifications/preferences/preferences.routes';
import { pushRoutes } from '#modules/notifications/push/push.routes';

export { wakeNotices } from '#modules/notifications/notices/wake';
export { removePreferencesOf } from '#modules/notifications/preferences/preferences.service';
export { removeSubscriptionsOf } from '#modules/notifications/push/subscriptions.service';
export { securityNotice } from '#modules/notifications/security/security-notices';

/** Notifications: audiences, channels, preferences, deliveries and the inbox. */
export const notificationsModule = defineModule({
  name: 'notifications',
  description: 'Notifications: audiences, channels, preferences, deliveries and the inbox',
  routes: [...preferenceRoutes, ...inboxRoutes, ...pushRoutes, ...noticeRoutes, ...deliveryRoutes],
  jobs: [sweepNotifications, forgetNotifications],
  work: notificationTasks,
});
