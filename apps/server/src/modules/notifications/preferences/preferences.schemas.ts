import Type, { type Static } from 'typebox';

import {
  FreeObject,
  TimeZone,
  Timestamp,
  Uuid,
  closed,
  freeObjectOfAtMost,
  listOf,
  nullable,
} from '#core/base/schemas';
import { channels } from '#modules/notifications/notifications.types';
import { weekdays } from '#modules/notifications/preferences/decision.rules';

const Channel = Type.Enum([...channels]);
const scopes = ['tenant_default', 'user_override'] as const;
const Scope = Type.Enum(scopes, { description: 'Whether it is a default of the tenant or an override of one user.' });
const quietHours =
  '`timezone`, `start` and `end` (HH:MM), `days` (`mon` to `sun`), `mode` (`delay` or `drop`) and `exceptCritical`; other keys have no effect.';
const rules = '`locked`: true in a tenant default forbids overrides by users; other keys have no effect.';
const Category = Type.String({
  minLength: 1,
  maxLength: 120,
  description: 'Category, `news.*` for all categories below `news`, or `*` for all. The most specific match applies.',
});

const givenObject = (description: string) =>
  freeObjectOfAtMost(2048, { description: `${description} At most 2048 bytes as JSON.` });
const storedObject = (description: string) =>
  Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), { description });

const preferences = Type.Array(
  closed({
    category: Category,
    channel: Channel,
    enabled: Type.Boolean({ description: 'Whether the channel delivers notifications of the category.' }),
    quietHours: Type.Optional(givenObject(quietHours)),
    rules: Type.Optional(givenObject(rules)),
  }),
  { minItems: 1, maxItems: 100, description: 'Preferences to create or update; of duplicates the last one applies.' },
);

export const UpdatePreferencesBody = closed({
  preferences,
  scope: Type.Optional(Scope),
  userId: Type.Optional(Uuid),
});
export type UpdatePreferencesBody = Static<typeof UpdatePreferencesBody>;

export const UpdateOwnPreferencesBody = closed({ preferences });
export type GivenPreference = UpdatePreferencesBody['preferences'][number];

const filters = {
  category: Type.Optional(
    Type.String({ minLength: 1, maxLength: 120, description: 'Exact category, wildcards included.' }),
  ),
  channel: Type.Optional(Channel),
};
export const ListOwnPreferencesQuery = Type.Object(filters);
export const ListPreferencesQuery = Type.Object({
  scope: Type.Optional(Scope),
  userId: Type.Optional(Uuid),
  ...filters,
});
export type ListPreferencesQuery = Static<typeof ListPreferencesQuery>;

const NotificationPreference = closed(
  {
    id: Uuid,
    tenantId: Uuid,
    userId: nullable(Uuid, {
      description: 'User, by identifier; null for tenant defaults.',
    }),
    scope: Scope,
    category: Type.String({ description: 'Category, or a wildcard such as `news.*` or `*`.' }),
    channel: Channel,
    enabled: Type.Boolean({ description: 'Whether the channel delivers notifications of the category.' }),
    quietHours: storedObject(quietHours),
    rules: storedObject(rules),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'NotificationPreference' },
);
export const PreferenceList = listOf(NotificationPreference);

const category = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 120,
    description: 'Category to explain; default: one that no specific preference matches.',
  }),
);
export const OwnEffectiveQuery = Type.Object({ category });
export const EffectiveQuery = Type.Object({ userId: Type.Optional(Uuid), category });
export type EffectiveQuery = Static<typeof EffectiveQuery>;

const EffectivePreference = closed(
  {
    channel: Channel,
    enabled: Type.Boolean({ description: 'Whether the channel delivers notifications of the category.' }),
    layer: Type.Enum(['locked', 'user_override', 'tenant_default', 'built_in'], {
      description: 'Layer of preferences that decides.',
    }),
    preferenceId: nullable(Uuid, {
      description: 'Preference that decides; null for the built-in default.',
    }),
    category: nullable(Type.String(), {
      description: 'Category of the preference that decides, possibly a wildcard; null for the built-in default.',
    }),
    quietHours: Type.Union([FreeObject, Type.Null()], { description: 'Quiet hours that apply; null if none do.' }),
    quietHoursLayer: nullable(Type.Enum(scopes), {
      description: 'Layer that sets the quiet hours; null if none apply.',
    }),
    timezone: nullable(Type.String(), { description: 'IANA time zone of the quiet hours; null if none apply.' }),
    outcome: Type.Enum(['sent', 'delayed', 'dropped', 'turned_off'], {
      description: 'Result for a notification that is sent now and is not critical.',
    }),
    until: nullable(Timestamp, {
      description: 'End of the delay (RFC 3339, UTC); null if it is not delayed.',
    }),
    because: Type.String({ description: 'Reason as text for people.' }),
  },
  { title: 'EffectiveNotificationPreference' },
);
export const EffectivePreferences = listOf(EffectivePreference);

const Clock = Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$' });

/** The keys of quietHours that have an effect; all others are free. */
export const QuietHours = Type.Object({
  timezone: Type.Optional(TimeZone),
  start: Type.Optional(Clock),
  end: Type.Optional(Clock),
  days: Type.Optional(Type.Array(Type.Enum([...weekdays]), { uniqueItems: true })),
  mode: Type.Optional(Type.Enum(['delay', 'drop'])),
  exceptCritical: Type.Optional(Type.Boolean()),
});

/** The keys of rules that have an effect. */
export const Rules = Type.Object({ locked: Type.Optional(Type.Boolean()) });
