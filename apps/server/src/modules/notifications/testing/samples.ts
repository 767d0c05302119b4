import { newBrowser } from '#modules/notifications/push/testing/browser';
import { noticeSuccesses } from '#modules/notifications/testing/notice-successes';
import { preferenceSuccesses } from '#modules/notifications/testing/preference-successes';
import { pushSuccesses } from '#modules/notifications/testing/push-successes';
import { insertNotificationRows } from '#modules/notifications/testing/rows';
import { withClient } from '#test/support/database';
import { unique } from '#test/support/factories';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    subscribePush: () => ({ ...newBrowser().subscription, expirationTime: Date.parse('2040-01-01T00:00:00Z') }),
    updateNotificationPreferences: ({ tenant }) => ({
      preferences: [notificationPreferenceFields()],
      scope: 'user_override',
      userId: tenant.admin.userId,
    }),
    updateOwnNotificationPreferences: () => ({ preferences: [notificationPreferenceFields()] }),
    readAllNotifications: () => ({ before: '2026-06-01T00:00:00Z' }),
    createNotice: ({ tenant }) => ({
      key: unique('notice'),
      category: 'news.office',
      title: 'Closed',
      body: 'On Monday.',
      i18n: { de: { title: 'Zu', body: 'Am Montag.' } },
      link: '/news',
      data: { number: 1 },
      isCritical: false,
      channels: ['in_app', 'email'],
      audience: { userIds: [tenant.admin.userId], groupIds: [] },
    }),
  },
  ids: {
    'listNotificationPreferences query.userId': 'user',
    'updateNotificationPreferences body.userId': 'user',
    'explainNotificationPreferences query.userId': 'user',
    'deleteNotificationPreference params.id': 'notificationPreference',
    'deleteOwnNotificationPreference params.id': 'notificationPreference',
    'readNotification params.id': 'notification',
    'unreadNotification params.id': 'notification',
    'dismissNotification params.id': 'notification',
    'createNotice body.audience.userIds[]': 'user',
    'createNotice body.audience.groupIds[]': 'group',
    'getNotice params.id': 'notice',
    'cancelNotice params.id': 'notice',
    'listNotificationDeliveries query.noticeId': 'notice',
    'listNotificationDeliveries query.userId': 'user',
    'listOwnNotificationDeliveries params.id': 'notification',
    'unsubscribePush params.id': 'pushSubscription',
  },
  records: ({ test, tenant }) =>
    withClient(test.connection, (client) =>
      insertNotificationRows(client, { tenantId: tenant.tenantId, userId: tenant.admin.userId }),
    ),
  successes: (context) => ({
    ...noticeSuccesses(context),
    ...preferenceSuccesses(context),
    ...pushSuccesses(context),
  }),
};

function notificationPreferenceFields(): Body {
  return {
    category: 'news.*',
    channel: 'email',
    enabled: true,
    quietHours: { timezone: 'Europe/Vienna', start: '22:00', end: '07:00', days: ['sat', 'sun'], mode: 'delay' },
    rules: { digest: 'daily' },
  };
}
