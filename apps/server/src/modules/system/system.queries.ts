import { sql } from 'kysely';

import { queryBuilder, read } from '#core/data/db/query';

const builder = queryBuilder<{ connectors: { status: string; enabled: boolean; auto_disabled: boolean } }>();

export type ConnectorCount = { status: string; total: number; active: number };

/** Connectors of all tenants by status, with the number of active ones; at most `most` are counted. */
export const countConnectors = read<{ max: number }, ConnectorCount>((p) =>
  builder
    .selectFrom(builder.selectFrom('connectors').select(['status', 'enabled', 'auto_disabled']).limit(p.max).as('some'))
    .select([
      'status',
      sql<number>`count(*)`.as('total'),
      sql<number>`count(*) filter (where enabled and not auto_disabled)`.as('active'),
    ])
    .groupBy('status'),
);
