import { access } from '#core/base/access/access';
import { IdParams } from '#core/base/schemas';
import { defineRoute } from '#core/http/route';
import * as errors from '#modules/notifications/preferences/preferences.errors';
import * as schemas from '#modules/notifications/preferences/preferences.schemas';
import {
  atHome,
  deleteNotificationPreference,
  deleteOwnPreference,
  explainPreferences,
  listNotificationPreferences,
  updatePreferences,
} from '#modules/notifications/preferences/preferences.service';

const collection = '/api/v1/secure/admin/notifications/preferences';
const own = '/api/v1/secure/notifications/preferences';
const wrong = [errors.InvalidPreference, errors.CategoryLocked, errors.TooManyPreferences, errors.PersonNotFound];

const adminRoutes = [
  defineRoute({
    method: 'GET',
    path: collection,
    operationId: 'listNotificationPreferences',
    summary:
      'List notification preferences: tenant defaults and those of a user; your own (scope user_override) need no permission',
    access: access.member(),
    schema: { query: schemas.ListPreferencesQuery, response: { 200: schemas.PreferenceList } },
    errors: [errors.PersonNotFound, errors.MembershipRequired],
    handler: ({ actor, db, query, services }) => listNotificationPreferences({ services, db, actor }, query),
  }),
  defineRoute({
    method: 'PATCH',
    path: collection,
    operationId: 'updateNotificationPreferences',
    summary:
      'Create or update notification preferences; those of others and the defaults of the tenant need notifications.manage',
    access: access.member(),
    schema: { body: schemas.UpdatePreferencesBody, response: { 200: schemas.PreferenceList } },
    errors: [...wrong, errors.UserNotAllowed, errors.UserRequired, errors.MembershipRequired],
    audit: 'notification_preference.updated',
    handler: ({ actor, body, db, services }) => updatePreferences({ services, db, actor }, body),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/effective`,
    operationId: 'explainNotificationPreferences',
    summary: 'Explain the current notification settings of a user on each channel; your own need no permission',
    access: access.member(),
    schema: { query: schemas.EffectiveQuery, response: { 200: schemas.EffectivePreferences } },
    errors: [errors.PersonNotFound, errors.MembershipRequired],
    handler: ({ actor, db, query, services }) => explainPreferences({ services, db, actor }, query),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${collection}/{id}`,
    operationId: 'deleteNotificationPreference',
    summary:
      'Delete a notification preference; the next layer decides again. Those of others need notifications.manage',
    access: access.member(),
    schema: { params: IdParams, response: { 204: null } },
    errors: [errors.PreferenceNotFound],
    audit: 'notification_preference.deleted',
    handler: ({ actor, db, params, services }) => deleteNotificationPreference({ services, db, actor }, params.id),
  }),
];

const ownRoutes = [
  defineRoute({
    method: 'GET',
    path: own,
    operationId: 'listOwnNotificationPreferences',
    summary: 'List your notification preferences',
    access: access.member(),
    schema: { query: schemas.ListOwnPreferencesQuery, response: { 200: schemas.PreferenceList } },
    errors: [errors.PersonNotFound],
    handler: ({ actor, query: { category, channel }, services }) =>
      listNotificationPreferences(atHome({ services, actor }), { scope: 'user_override', category, channel }),
  }),
  defineRoute({
    method: 'PATCH',
    path: own,
    operationId: 'updateOwnNotificationPreferences',
    summary: 'Create or update your notification preferences, all or none of them',
    access: access.member(),
    schema: { body: schemas.UpdateOwnPreferencesBody, response: { 200: schemas.PreferenceList } },
    errors: wrong,
    audit: 'notification_preference.updated',
    handler: ({ actor, body, services }) => updatePreferences(atHome({ services, actor }), body),
  }),
  defineRoute({
    method: 'GET',
    path: `${own}/effective`,
    operationId: 'explainOwnNotificationPreferences',
    summary: 'Explain your current notification settings on each channel',
    access: access.member(),
    schema: { query: schemas.OwnEffectiveQuery, response: { 200: schemas.EffectivePreferences } },
    errors: [errors.PersonNotFound],
    handler: ({ actor, query: { category }, services }) =>
      explainPreferences(atHome({ services, actor }), { category }),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${own}/{id}`,
    operationId: 'deleteOwnNotificationPreference',
    summary: 'Delete one of your notification preferences; the tenant defaults apply again',
    access: access.member(),
    schema: { params: IdParams, response: { 204: null } },
    errors: [errors.PreferenceNotFound],
    audit: 'notification_preference.deleted',
    handler: ({ actor, params, services }) => deleteOwnPreference({ services, actor }, params.id),
  }),
];

export const preferenceRoutes = [...adminRoutes, ...ownRoutes];
