import { sql } from 'kysely';

import { queryBuilder, read } from '#core/data/db/query';

type Owned = { tenant_id: string; id: string };

const builder = queryBuilder<Record<'spaces' | 'resources' | 'tags' | 'categories', Owned>>();

type Counted = { total: number };
const total = sql<number>`count(*)::integer`.as('total');

/** Number of records of a type in a tenant. */
export const countEntities = {
  space: read<{ tenantId: string }, Counted>((p) =>
    builder.selectFrom('spaces').select(total).where('tenant_id', '=', p.tenantId),
  ),
  resource: read<{ tenantId: string }, Counted>((p) =>
    builder.selectFrom('resources').select(total).where('tenant_id', '=', p.tenantId),
  ),
  tag: read<{ tenantId: string }, Counted>((p) =>
    builder.selectFrom('tags').select(total).where('tenant_id', '=', p.tenantId),
  ),
  category: read<{ tenantId: string }, Counted>((p) =>
    builder.selectFrom('categories').select(total).where('tenant_id', '=', p.tenantId),
  ),
};

type Given = { tenantId: string; ids: readonly string[] };
const isGiven = ({ ids }: Given) => sql<boolean>`id = any(${ids}::uuid[])`;

/** Number of these records in a tenant. */
export const countGiven = {
  space: read<Given, Counted>((p) =>
    builder.selectFrom('spaces').select(total).where('tenant_id', '=', p.tenantId).where(isGiven(p)),
  ),
  resource: read<Given, Counted>((p) =>
    builder.selectFrom('resources').select(total).where('tenant_id', '=', p.tenantId).where(isGiven(p)),
  ),
  tag: read<Given, Counted>((p) =>
    builder.selectFrom('tags').select(total).where('tenant_id', '=', p.tenantId).where(isGiven(p)),
  ),
  category: read<Given, Counted>((p) =>
    builder.selectFrom('categories').select(total).where('tenant_id', '=', p.tenantId).where(isGiven(p)),
  ),
};
