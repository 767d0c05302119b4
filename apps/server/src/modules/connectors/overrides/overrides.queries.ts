import { sql } from 'kysely';

import { queryBuilder, read, write } from '#core/data/db/query';
import type { ConnectorRow } from '#modules/connectors/connectors.queries';

export type OverrideRow = {
  id: string;
  enabled: boolean;
  preferred_provider_order: string[];
  quota_limits: Record<string, unknown>;
  /** Encrypted. */
  customer_credentials: string | null;
};

type Tables = {
  operation_overrides: OverrideRow & { tenant_id: string; operation_key: string };
  connectors: Pick<ConnectorRow, 'tenant_id' | 'id' | 'api_key' | 'api_base_url' | 'category' | 'config'>;
};

const builder = queryBuilder<Tables>();

export const findOverride = read<{ tenantId: string; operation: string }, OverrideRow>((p) =>
  builder
    .selectFrom('operation_overrides')
    .select(['id', 'enabled', 'preferred_provider_order', 'quota_limits', 'customer_credentials'])
    .where('tenant_id', '=', p.tenantId)
    .where('operation_key', '=', p.operation),
);

/** Addresses and kinds of the connectors with these names. */
export const listAddresses = read<
  { tenantId: string; keys: readonly string[] },
  Pick<ConnectorRow, 'api_key' | 'api_base_url' | 'category' | 'config'>
>((p) =>
  builder
    .selectFrom('connectors')
    .select(['api_key', 'api_base_url', 'category', 'config'])
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`api_key = any(${p.keys}::text[])`),
);

/** Removes the name from all preferred orders of the tenant. */
export const dropFromOrders = write<{ tenantId: string; key: string }, never>((p) =>
  builder
    .updateTable('operation_overrides')
    .set({ preferred_provider_order: sql`array_remove(preferred_provider_order, ${p.key}::text)` })
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`${p.key}::text = any(preferred_provider_order)`),
);
