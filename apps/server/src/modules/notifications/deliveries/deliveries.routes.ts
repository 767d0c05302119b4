import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import { NotificationNotFound } from '#modules/notifications/deliveries/deliveries.errors';
import * as schemas from '#modules/notifications/deliveries/deliveries.schemas';
import { listAllDeliveries, listOwnDeliveries } from '#modules/notifications/deliveries/deliveries.service';

export const deliveryRoutes = [
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/admin/notifications/deliveries',
    operationId: 'listNotificationDeliveries',
    summary: 'List deliveries of the tenant with their status and reason, newest first',
    access: access.permission('notifications.manage'),
    schema: { query: schemas.ListDeliveriesQuery, response: { 200: schemas.DeliveryPage } },
    handler: ({ db, query, setHeader }) => listAllDeliveries({ db, setHeader }, query),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/notifications/{id}/deliveries',
    operationId: 'listOwnNotificationDeliveries',
    summary: 'List the deliveries of one of your notifications, with their status and reason',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.DeliveryList } },
    errors: [NotificationNotFound],
    handler: ({ actor, db, params }) => listOwnDeliveries({ db, actor }, params.id),
  }),
];
