import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import { NotificationNotFound } from '#modules/notifications/deliveries/deliveries.errors';
import * as schemas from '#modules/notifications/inbox/inbox.schemas';
import {
  dismiss,
  getUnreadCount,
  listNotifications,
  markRead,
  markUnread,
  readAll,
} from '#modules/notifications/inbox/inbox.service';

const collection = '/api/v1/secure/notifications';
const notAudited = { none: 'changes only the inbox of the caller' };

export const inboxRoutes = [
  defineRoute({
    method: 'GET',
    path: collection,
    operationId: 'listNotifications',
    summary: 'List notifications in your inbox, newest first',
    access: access.member(),
    schema: { query: schemas.ListInboxQuery, response: { 200: schemas.NotificationPage } },
    handler: ({ actor, query, services, setHeader }) => listNotifications({ services, actor, setHeader }, query),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/unread-count`,
    operationId: 'getUnreadNotificationCount',
    summary: 'Count unread notifications in your inbox',
    access: access.member(),
    schema: { response: { 200: schemas.UnreadCount } },
    handler: ({ actor, services }) => getUnreadCount({ services, actor }),
  }),
  defineRoute({
    method: 'POST',
    path: `${collection}/read-all`,
    operationId: 'readAllNotifications',
    summary: 'Mark all notifications as read, or those up to a given time',
    access: access.member(),
    schema: { body: schemas.ReadAllBody, response: { 200: schemas.ReadAllAnswer } },
    audit: notAudited,
    handler: ({ actor, body, services, untilAbandoned }) =>
      readAll({ services, actor, signal: untilAbandoned() }, body),
  }),
  defineRoute({
    method: 'POST',
    path: `${collection}/{id}/read`,
    operationId: 'readNotification',
    summary: 'Mark a notification as read; repeating it has no effect',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.NotificationAnswer } },
    errors: [NotificationNotFound],
    audit: notAudited,
    handler: ({ actor, params, services }) => markRead({ services, actor }, params.id),
  }),
  defineRoute({
    method: 'POST',
    path: `${collection}/{id}/unread`,
    operationId: 'unreadNotification',
    summary: 'Mark a notification as unread',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.NotificationAnswer } },
    errors: [NotificationNotFound],
    audit: notAudited,
    handler: ({ actor, params, services }) => markUnread({ services, actor }, params.id),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${collection}/{id}`,
    operationId: 'dismissNotification',
    summary: 'Remove a notification from your inbox',
    access: access.member(),
    schema: { params: IdParams, response: { 204: null } },
    errors: [NotificationNotFound],
    audit: notAudited,
    handler: ({ actor, params, services }) => dismiss({ services, actor }, params.id),
  }),
];
