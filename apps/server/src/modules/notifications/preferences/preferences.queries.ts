import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, lock, queryBuilder, read, toRead, write, type ReadStatement } from '#core/data/db/query';
import { typed, flag, lockById, rowById, tenantTable, text, time, uuid, type RowOf } from '#core/data/db/rows';
import type { Channel, QuietHours } from '#modules/notifications/notifications.types';

const preferences = tenantTable('notification_preferences', {
  tenant_id: uuid,
  id: uuid,
  user_id: uuid.orNull,
  scope: typed<'tenant_default' | 'user_override'>(),
  category: text,
  channel: typed<Channel>(),
  enabled: flag,
  quiet_hours: typed<QuietHours>(),
  rules: typed<Record<string, unknown> & { locked?: boolean }>(),
  created_at: time,
  updated_at: time,
});
export type PreferenceRow = RowOf<typeof preferences>;

const builder = queryBuilder<{ notification_preferences: PreferenceRow }>();
const { columns } = preferences;

const resourceType = 'notification_preference';

type Deciding = Pick<PreferenceRow, 'id' | 'category' | 'channel' | 'enabled' | 'quiet_hours' | 'rules'>;
const deciding = ['id', 'category', 'channel', 'enabled', 'quiet_hours', 'rules'] as const;

/** All defaults of the tenant. */
export const listDefaults = read<{ tenantId: string }, Deciding>((p) =>
  builder
    .selectFrom('notification_preferences')
    .select(deciding)
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', 'is', null),
);

/** Overrides of some users that match `patternsOf(category)`. */
export const listOverridesOf = read<
  { tenantId: string; userIds: readonly string[]; patterns: readonly string[] },
  Deciding & { user_id: string }
>((p) =>
  builder
    .selectFrom('notification_preferences')
    .select(deciding)
    .select(sql<string>`user_id`.as('user_id'))
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`user_id = any(${p.userIds}::uuid[])`)
    .where(sql<boolean>`category = any(${p.patterns}::text[])`),
);

/** The owner of preferences: the tenant, or a user. */
export type Owner = { userId: string | null };

/** All preferences of one owner. */
export const listPreferencesOf = read<{ tenantId: string } & Owner, Deciding>((p) =>
  builder
    .selectFrom('notification_preferences')
    .select(deciding)
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', 'is not distinct from', sql<string | null>`${p.userId}::uuid`),
);

type Listed = {
  tenantId: string;
  /** Owners; null for the tenant. */
  owners: readonly (string | null)[];
  category: string | undefined;
  channel: Channel | undefined;
};

/** Defaults first; then by category and channel. */
export function listPreferences({ tenantId, owners, category, channel }: Listed): ReadStatement<PreferenceRow> {
  let rows: SelectQueryBuilder<{ notification_preferences: PreferenceRow }, 'notification_preferences', object> =
    builder
      .selectFrom('notification_preferences')
      .where('tenant_id', '=', tenantId)
      .where((is) =>
        is.or(owners.map((owner) => (owner === null ? is('user_id', 'is', null) : is('user_id', '=', owner)))),
      );
  if (category !== undefined) rows = rows.where('category', '=', category);
  if (channel !== undefined) rows = rows.where('channel', '=', channel);
  const inOrder = rows
    .orderBy('scope')
    .orderBy(sql`category collate "C"`)
    .orderBy('channel');
  return toRead(inOrder.select(columns));
}

/** Serialises changes of one owner's preferences. */
export const lockPreferences = lock<{ tenantId: string } & Owner, never>(
  (p) =>
    sql`select pg_advisory_xact_lock(hashtextextended('notification-preferences:' || ${p.tenantId}::text || coalesce(${p.userId}::text, ''), 0))`,
);

/** Locked until the end of the transaction, because omitted properties keep their values. */
export const lockPreferencesOf = lock<{ tenantId: string } & Owner, PreferenceRow>((p) =>
  builder
    .selectFrom('notification_preferences')
    .select(columns)
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', 'is not distinct from', sql<string | null>`${p.userId}::uuid`)
    .orderBy('id')
    .forUpdate(),
);

/** Upserts preferences of one owner, given as JSON, each category and channel once. */
export const putPreferences = write<{ tenantId: string; rows: string }, PreferenceRow>(
  (p) => sql`insert into notification_preferences (${sql.join(columns.map((name) => sql.ref(name)))})
        select ${sql.join(columns.map((name) => sql.ref(`given.${name}`)))}
        from jsonb_to_recordset(${p.rows}::jsonb) as given (
          tenant_id uuid, id uuid, user_id uuid, scope text, category text, channel text, enabled boolean,
          quiet_hours jsonb, rules jsonb, created_at timestamptz, updated_at timestamptz)
        where given.tenant_id = ${p.tenantId}
        on conflict on constraint notification_preferences_once do update set
          enabled = excluded.enabled, quiet_hours = excluded.quiet_hours, rules = excluded.rules,
          updated_at = excluded.updated_at
        returning ${sql.join(columns.map((name) => sql.ref(`notification_preferences.${name}`)))}`,
);

type Deletion = { id: string; userId: string | null; includesOthers: boolean } & AuditParams;

/** Deletes a preference of the user, or of any owner if others are included. */
export const deletePreference = auditedWrite<Deletion, { id: string }>((p) => {
  const change = builder
    .deleteFrom('notification_preferences')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where(sql<boolean>`(${p.includesOthers}::boolean or user_id = ${p.userId}::uuid)`)
    .returning('id');
  return withAudit<{ id: string }>(change, { action: 'notification_preference.deleted', resourceType }, p);
});

/** For a user who was removed from the tenant. */
export const deletePreferencesOf = write<{ tenantId: string; userId: string }, never>((p) =>
  builder.deleteFrom('notification_preferences').where('tenant_id', '=', p.tenantId).where('user_id', '=', p.userId),
);

const people = tenantTable('users', { id: uuid, timezone: text.orNull }, ['status', '<>', 'deleted']);

/** The user is not deleted meanwhile. */
export const sharePerson = lockById(people, 'for share', 'id');
export const findPerson = rowById(people);
