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
} from '#core/http/schemas';
import { channels } from '#modules/notifications/notifications.types';
import { weekdays } from '#modules/notifications/preferences/decision.rules';

const Channel = Type.Enum([...channels]);
const Scope = Type.Enum(['tenant_default', 'user_override']);
const Category = Type.String({
  minLength: 1,
  maxLength: 120,
  description: 'A category, `news.*` for all below one, or `*` for all. The most specific one counts.',
});

const preferences = Type.Array(
  closed({
    category: Category,
    channel: Channel,
    enabled: Type.Boolean(),
    quietHours: Type.Optional(freeObjectOfAtMost(2048)),
    rules: Type.Optional(freeObjectOfAtMost(2048)),
  }),
  { minItems: 1, maxItems: 100 },
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
  category: Type.Optional(Type.String({ minLength: 1, maxLength: 120, description: 'Exact.' })),
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
    userId: nullable(Uuid),
    scope: Scope,
    category: Type.String(),
    channel: Channel,
    enabled: Type.Boolean(),
    quietHours: FreeObject,
    rules: FreeObject,
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
    description: 'What holds for it; without, for what nobody speaks about.',
  }),
);
export const OwnEffectiveQuery = Type.Object({ category });
export const EffectiveQuery = Type.Object({ userId: Type.Optional(Uuid), category });
export type EffectiveQuery = Static<typeof EffectiveQuery>;

const EffectivePreference = closed(
  {
    channel: Channel,
    enabled: Type.Boolean(),
    layer: Type.Enum(['locked', 'user_override', 'tenant_default', 'built_in']),
    preferenceId: nullable(Uuid),
    category: nullable(Type.String({ description: 'Of the preference that decides, which may stand for several.' })),
    quietHours: nullable(FreeObject),
    quietHoursLayer: nullable(Scope),
    timezone: nullable(Type.String({ description: 'The zone that the quiet hours go by.' })),
    outcome: Type.Enum(['sent', 'delayed', 'dropped', 'turned_off'], {
      description: 'What became of something sent at this moment that is not critical.',
    }),
    until: nullable(Type.String({ format: 'date-time', maxLength: 40, description: 'Where it is delayed.' })),
    because: Type.String(),
  },
  { title: 'EffectiveNotificationPreference' },
);
export const EffectivePreferences = listOf(EffectivePreference);

const Clock = Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$' });

/** The keys of quietHours that have a meaning; all others are free. */
export const QuietHours = Type.Object({
  timezone: Type.Optional(TimeZone),
  start: Type.Optional(Clock),
  end: Type.Optional(Clock),
  days: Type.Optional(Type.Array(Type.Enum([...weekdays]), { uniqueItems: true })),
  mode: Type.Optional(Type.Enum(['delay', 'drop'])),
  exceptCritical: Type.Optional(Type.Boolean()),
});

/** The same of rules. */
export const Rules = Type.Object({ locked: Type.Optional(Type.Boolean()) });
