import { access } from '#core/base/access/access';
import { defineRoute, type Route } from '#core/http/route';
import { PersonNotFound } from '#modules/notifications/preferences/preferences.errors';
import {
  EndpointNotAllowed,
  SubscriptionNotFound,
  SubscriptionUnusable,
} from '#modules/notifications/push/push.errors';
import * as schemas from '#modules/notifications/push/push.schemas';
import {
  getPushKey,
  listOwnSubscriptions,
  subscribe,
  unsubscribe,
} from '#modules/notifications/push/subscriptions.service';

const path = '/api/v1/secure/notifications/push';

export const pushRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: `${path}/key`,
    operationId: 'getPushKey',
    summary: 'Get the public key with which browsers subscribe to push notifications',
    access: access.member(),
    schema: { response: { 200: schemas.PushKeyAnswer } },
    handler: ({ services }) => getPushKey(services),
  }),
  defineRoute({
    method: 'GET',
    path: `${path}/subscriptions`,
    operationId: 'listPushSubscriptions',
    summary: 'List your push subscriptions, newest first',
    access: access.member(),
    schema: { response: { 200: schemas.PushSubscriptionList } },
    handler: ({ actor, services }) => listOwnSubscriptions({ actor, services }),
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/subscriptions`,
    operationId: 'subscribePush',
    summary: 'Subscribe a browser to push notifications; the same browser renews its keys',
    access: access.member(),
    schema: { body: schemas.SubscribePushBody, response: { 201: schemas.PushSubscriptionAnswer } },
    errors: [EndpointNotAllowed, SubscriptionUnusable, PersonNotFound],
    audit: 'push_subscription.created',
    handler: ({ actor, body, services }) => subscribe({ actor, services }, body),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${path}/subscriptions/{id}`,
    operationId: 'unsubscribePush',
    summary: 'Unsubscribe a browser from push notifications',
    access: access.member(),
    schema: { params: schemas.IdParams, response: { 204: null } },
    errors: [SubscriptionNotFound],
    audit: 'push_subscription.deleted',
    handler: ({ actor, params, services }) => unsubscribe({ actor, services }, params.id),
  }),
];
