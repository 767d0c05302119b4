import { access } from '#core/access/access';
import { defineRoute } from '#core/http/route';
import { IdParams } from '#core/http/schemas';
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
const wrong = [
  errors.InvalidPreference,
  errors.PreferenceListedTwice,
  errors.CategoryLocked,
  errors.TooManyPreferences,
  errors.PersonNotFound,
];

const adminRoutes = [
  defineRoute({
    method: 'GET',
    path: collection,
    operationId: 'listNotificationPreferences',
    summary:
      'Defaults of the tenant and what a user says; for the own ones (scope user_override) no permission is needed',
    access: access.member(),
    schema: { query: schemas.ListPreferencesQuery, response: { 200: schemas.PreferenceList } },
    errors: [errors.PersonNotFound, errors.NoOwnPreferences],
    handler: ({ actor, db, query, services }) => listNotificationPreferences({ services, db, actor }, query),
  }),
  defineRoute({
    method: 'PATCH',
    path: collection,
    operationId: 'updateNotificationPreferences',
    summary:
      'Create or change preferences: the own ones, or with notifications.manage those of a user or what all get by default',
    access: access.member(),
    schema: { body: schemas.UpdatePreferencesBody, response: { 200: schemas.PreferenceList } },
    errors: [...wrong, errors.DefaultsHaveNoUser, errors.NoOwnPreferences],
    audit: 'notification_preference.updated',
    handler: ({ actor, body, db, services }) => updatePreferences({ services, db, actor }, body),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/effective`,
    operationId: 'explainNotificationPreferences',
    summary: 'What holds for a user on each channel at this moment, and why; for oneself no permission is needed',
    access: access.member(),
    schema: { query: schemas.EffectiveQuery, response: { 200: schemas.EffectivePreferences } },
    errors: [errors.PersonNotFound, errors.NoOwnPreferences],
    handler: ({ actor, db, query, services }) => explainPreferences({ services, db, actor }, query),
  }),
  defineRoute({
    method: 'DELETE',
    path: `${collection}/{id}`,
    operationId: 'deleteNotificationPreference',
    summary: 'Delete a preference, so that the next layer decides: an own one, or with notifications.manage any',
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
    summary: 'What the caller wants to be told, and how',
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
    summary: 'Create or change own preferences, all of them or none',
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
    summary: 'What holds for the caller on each channel at this moment, and why',
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
    summary: 'Delete an own preference, so that the tenant decides again',
    access: access.member(),
    schema: { params: IdParams, response: { 204: null } },
    errors: [errors.PreferenceNotFound],
    audit: 'notification_preference.deleted',
    handler: ({ actor, params, services }) => deleteOwnPreference({ services, actor }, params.id),
  }),
];

export const preferenceRoutes = [...adminRoutes, ...ownRoutes];
