import { sql } from 'kysely';

import { queryBuilder, statement } from '#core/db/query';

type Owned = { tenant_id: string; id: string };

const builder = queryBuilder<Record<'spaces' | 'resources' | 'tags' | 'categories', Owned>>();

type Counted = { total: number };
const total = sql<number>`count(*)::integer`.as('total');

/** Number of records of a type in a tenant. */
export const countEntities = {
  space: statement<{ tenantId: string }, Counted>((p) =>
    builder.selectFrom('spaces').select(total).where('tenant_id', '=', p.tenantId),
  ),
  resource: statement<{ tenantId: string }, Counted>((p) =>
    builder.selectFrom('resources').select(total).where('tenant_id', '=', p.tenantId),
  ),
  tag: statement<{ tenantId: string }, Counted>((p) =>
    builder.selectFrom('tags').select(total).where('tenant_id', '=', p.tenantId),
  ),
  category: statement<{ tenantId: string }, Counted>((p) =>
    builder.selectFrom('categories').select(total).where('tenant_id', '=', p.tenantId),
  ),
};

type Given = { tenantId: string; ids: readonly string[] };
const isGiven = ({ ids }: Given) => sql<boolean>`id = any(${ids}::uuid[])`;

/** Number of these records in a tenant. */
export const countGiven = {
  space: statement<Given, Counted>((p) =>
    builder.selectFrom('spaces').select(total).where('tenant_id', '=', p.tenantId).where(isGiven(p)),
  ),
  resource: statement<Given, Counted>((p) =>
    builder.selectFrom('resources').select(total).where('tenant_id', '=', p.tenantId).where(isGiven(p)),
  ),
  tag: statement<Given, Counted>((p) =>
    builder.selectFrom('tags').select(total).where('tenant_id', '=', p.tenantId).where(isGiven(p)),
  ),
  category: statement<Given, Counted>((p) =>
    builder.selectFrom('categories').select(total).where('tenant_id', '=', p.tenantId).where(isGiven(p)),
  ),
};
