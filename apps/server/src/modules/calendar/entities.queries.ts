import { sql, type Expression, type SqlBool } from 'kysely';

import {
  lock,
  queryBuilder,
  read,
  searchPatterns,
  toRead,
  type LockStatement,
  type ReadStatement,
} from '#core/data/db/query';
import { countMatches, exactTotalLimit } from '#core/data/db/totals';

export type EntityType = 'space' | 'resource' | 'user';

/** A space, resource or user that events can book. */
export type Entity = { entity_type: EntityType; entity_id: string };

type Named = { tenant_id: string; id: string; name: string; status: string; timezone: string | null };
type Tables = {
  spaces: Named;
  resources: Named;
  users: { tenant_id: string; id: string; display_name: string; status: string };
};

export type CalendarRow = {
  id: string;
  name: string;
  entity_type: EntityType;
  timezone: string | null;
  sort_key: string;
};
type Position = Pick<CalendarRow, 'id' | 'sort_key'>;
export type CalendarFilters = { types: readonly EntityType[]; search: string | undefined };

const builder = queryBuilder<Tables>();

/** Bookable statuses: archived records, and users who are invited or suspended, cannot be booked. */
const bookable = { space: ['active', 'maintenance'], resource: ['active', 'maintenance'], user: ['active'] };

/** Lists by name, after a position if one is given. Each kind reads at most one page, in the order of its own index. */
export function listCalendars(
  tenantId: string,
  { types, search }: CalendarFilters,
  { limit, offset, after }: { limit: number; offset: number; after?: Position | undefined },
): ReadStatement<CalendarRow> {
  const max = limit + offset;
  const all = union(types.map((type) => calendarsOf[type]({ tenantId, search, max, after })));
  return toRead(
    builder
      .selectFrom(all.as('calendars'))
      .select(['id', 'name', 'entity_type', 'timezone', 'sort_key'])
      .orderBy('sort_key')
      .orderBy('id')
      .limit(limit)
      .offset(offset),
  );
}

export function countCalendars(tenantId: string, { types, search }: CalendarFilters): ReadStatement<{ total: number }> {
  return countMatches(union(types.map((type) => calendarsOf[type]({ tenantId, search, max: exactTotalLimit + 1 }))));
}

function union([first, ...rest]: ReturnType<(typeof calendarsOf)[EntityType]>[]) {
  return rest.reduce((all, some) => all.unionAll(some), first!);
}

type Part = { tenantId: string; search: string | undefined; max: number; after?: Position | undefined };

const calendarsOf = {
  space: ({ tenantId, search, max, after }: Part) => {
    const spaces = builder
      .selectFrom('spaces')
      .select(['id', 'name', sql<EntityType>`'space'::text`.as('entity_type'), 'timezone', sortKey('name')])
      .where('tenant_id', '=', tenantId)
      .where('status', 'in', bookable.space)
      .where(nameMatches('name', search))
      .where(isAfter('name', after))
      .orderBy(sql`lower(name)`)
      .orderBy('id')
      .limit(max);
    return builder.selectFrom(spaces.as('some')).selectAll();
  },
  resource: ({ tenantId, search, max, after }: Part) => {
    const resources = builder
      .selectFrom('resources')
      .select(['id', 'name', sql<EntityType>`'resource'::text`.as('entity_type'), 'timezone', sortKey('name')])
      .where('tenant_id', '=', tenantId)
      .where('status', 'in', bookable.resource)
      .where(nameMatches('name', search))
      .where(isAfter('name', after))
      .orderBy(sql`lower(name)`)
      .orderBy('id')
      .limit(max);
    return builder.selectFrom(resources.as('some')).selectAll();
  },
  user: ({ tenantId, search, max, after }: Part) => {
    const users = builder
      .selectFrom('users')
      .select([
        'id',
        'display_name as name',
        sql<EntityType>`'user'::text`.as('entity_type'),
        sql<string | null>`null::text`.as('timezone'),
        sortKey('display_name'),
      ])
      .where('tenant_id', '=', tenantId)
      .where('status', 'in', bookable.user)
      .where(nameMatches('display_name', search))
      .where(isAfter('display_name', after))
      .orderBy(sql`lower(display_name)`)
      .orderBy('id')
      .limit(max);
    return builder.selectFrom(users.as('some')).selectAll();
  },
};

function sortKey(column: 'name' | 'display_name') {
  return sql<string>`lower(${sql.ref(column)})`.as('sort_key');
}

function isAfter(column: 'name' | 'display_name', after: Position | undefined): Expression<SqlBool> {
  if (after === undefined) return sql<SqlBool>`true`;
  return sql<SqlBool>`(lower(${sql.ref(column)}), id) > (${after.sort_key}::text, ${after.id}::uuid)`;
}

function nameMatches(column: 'name' | 'display_name', search: string | undefined): Expression<SqlBool> {
  const name = sql`lower(${sql.ref(column)})`;
  const matches = searchPatterns(search).map((pattern) => sql<SqlBool>`${name} like lower(${pattern})`);
  return matches.length === 0 ? sql<SqlBool>`true` : sql<SqlBool>`${sql.join(matches, sql` and `)}`;
}

export type FoundEntity = Entity & { is_bookable: boolean };
type Ids = { tenantId: string; ids: readonly string[] };

/** Finds the existing entities. */
export const findEntities = read<Ids, FoundEntity>((p) =>
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
 * Locks the entities until the transaction ends, which serialises their bookings. All transactions lock in the order of kinds and
 * ids, so that two bookings cannot deadlock.
 */
export const lockEntities: readonly { type: EntityType; lock: (ids: Ids) => LockStatement<FoundEntity> }[] = [
  {
    type: 'resource',
    lock: lock<Ids, FoundEntity>((p) =>
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
    lock: lock<Ids, FoundEntity>((p) =>
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
    lock: lock<Ids, FoundEntity>((p) =>
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
