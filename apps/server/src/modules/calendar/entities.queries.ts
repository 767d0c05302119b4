import { sql, type Expression, type SqlBool } from 'kysely';

import { queryBuilder, searchPatterns, statement, toQuery, type Query } from '#core/db/query';
import { countMatches, exactTotalLimit } from '#core/db/totals';
import type { Entity, EntityType } from '#modules/calendar/calendar.tables';

type Named = { tenant_id: string; id: string; name: string; status: string; timezone: string | null };
type Tables = {
  spaces: Named;
  resources: Named;
  users: { tenant_id: string; id: string; display_name: string; status: string };
};

export type CalendarRow = { id: string; name: string; entity_type: EntityType; timezone: string | null };
export type CalendarFilters = { types: readonly EntityType[]; search: string | undefined };

const builder = queryBuilder<Tables>();

/** Whose time can be taken: neither what is archived nor who has not joined yet or is suspended. */
const bookable = { space: ['active', 'maintenance'], resource: ['active', 'maintenance'], user: ['active'] };

/** By name. Each kind gives no more than the page can need, in the order of its own index. */
export function listCalendars(
  tenantId: string,
  { types, search }: CalendarFilters,
  { limit, offset }: { limit: number; offset: number },
): Query<CalendarRow> {
  const all = union(types.map((type) => calendarsOf[type](tenantId, search, limit + offset)));
  return toQuery(
    builder
      .selectFrom(all.as('calendars'))
      .select(['id', 'name', 'entity_type', 'timezone'])
      .orderBy(sql`lower(name)`)
      .orderBy('id')
      .limit(limit)
      .offset(offset),
  );
}

export function countCalendars(tenantId: string, { types, search }: CalendarFilters): Query<{ total: number }> {
  return countMatches(union(types.map((type) => calendarsOf[type](tenantId, search, exactTotalLimit + 1))));
}

function union([first, ...rest]: ReturnType<(typeof calendarsOf)[EntityType]>[]) {
  return rest.reduce((all, some) => all.unionAll(some), first!);
}

const calendarsOf = {
  space: (tenantId: string, search: string | undefined, most: number) => {
    const spaces = builder
      .selectFrom('spaces')
      .select(['id', 'name', sql<EntityType>`'space'::text`.as('entity_type'), 'timezone'])
      .where('tenant_id', '=', tenantId)
      .where('status', 'in', bookable.space)
      .where(nameMatches('name', search))
      .orderBy(sql`lower(name)`)
      .orderBy('id')
      .limit(most);
    return builder.selectFrom(spaces.as('some')).selectAll();
  },
  resource: (tenantId: string, search: string | undefined, most: number) => {
    const resources = builder
      .selectFrom('resources')
      .select(['id', 'name', sql<EntityType>`'resource'::text`.as('entity_type'), 'timezone'])
      .where('tenant_id', '=', tenantId)
      .where('status', 'in', bookable.resource)
      .where(nameMatches('name', search))
      .orderBy(sql`lower(name)`)
      .orderBy('id')
      .limit(most);
    return builder.selectFrom(resources.as('some')).selectAll();
  },
  user: (tenantId: string, search: string | undefined, most: number) => {
    const users = builder
      .selectFrom('users')
      .select([
        'id',
        'display_name as name',
        sql<EntityType>`'user'::text`.as('entity_type'),
        sql<string | null>`null::text`.as('timezone'),
      ])
      .where('tenant_id', '=', tenantId)
      .where('status', 'in', bookable.user)
      .where(nameMatches('display_name', search))
      .orderBy(sql`lower(display_name)`)
      .orderBy('id')
      .limit(most);
    return builder.selectFrom(users.as('some')).selectAll();
  },
};

function nameMatches(column: 'name' | 'display_name', search: string | undefined): Expression<SqlBool> {
  const name = sql`lower(${sql.ref(column)})`;
  const matches = searchPatterns(search).map((pattern) => sql<SqlBool>`${name} like lower(${pattern})`);
  return matches.length === 0 ? sql<SqlBool>`true` : sql<SqlBool>`${sql.join(matches, sql` and `)}`;
}

export type FoundEntity = Entity & { is_bookable: boolean };
type Ids = { tenantId: string; ids: readonly string[] };

/** Those of the ids that exist. */
export const findEntities = statement<Ids, FoundEntity>((p) =>
  builder
    .selectFrom('spaces')
    .select(found('space'))
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
    .unionAll(
      builder
        .selectFrom('resources')
        .select(found('resource'))
        .where('tenant_id', '=', p.tenantId)
        .where(sql<boolean>`id = any(${p.ids}::uuid[])`),
    )
    .unionAll(
      builder
        .selectFrom('users')
        .select(found('user'))
        .where('tenant_id', '=', p.tenantId)
        .where('status', '<>', 'deleted')
        .where(sql<boolean>`id = any(${p.ids}::uuid[])`),
    ),
);

/**
 * The same, held to the end of the transaction, so that whoever takes their time comes one after the other. Locked in the order
 * of the kinds and their ids, which is everybody's order: no two bookings wait for each other.
 */
export const lockEntities: readonly { type: EntityType; lock: (ids: Ids) => Query<FoundEntity> }[] = [
  {
    type: 'resource',
    lock: statement<Ids, FoundEntity>((p) =>
      builder
        .selectFrom('resources')
        .select(found('resource'))
        .where('tenant_id', '=', p.tenantId)
        .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
        .orderBy('id')
        .forNoKeyUpdate(),
    ),
  },
  {
    type: 'space',
    lock: statement<Ids, FoundEntity>((p) =>
      builder
        .selectFrom('spaces')
        .select(found('space'))
        .where('tenant_id', '=', p.tenantId)
        .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
        .orderBy('id')
        .forNoKeyUpdate(),
    ),
  },
  {
    type: 'user',
    lock: statement<Ids, FoundEntity>((p) =>
      builder
        .selectFrom('users')
        .select(found('user'))
        .where('tenant_id', '=', p.tenantId)
        .where('status', '<>', 'deleted')
        .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
        .orderBy('id')
        .forNoKeyUpdate(),
    ),
  },
];

function found(type: EntityType) {
  return [
    sql<EntityType>`${type}::text`.as('entity_type'),
    sql<string>`id`.as('entity_id'),
    sql<boolean>`status = any(${bookable[type]}::text[])`.as('is_bookable'),
  ] as const;
}
