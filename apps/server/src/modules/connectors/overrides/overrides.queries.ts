import { sql } from 'kysely';

import { queryBuilder, statement } from '#core/db/query';

export type OverrideRow = {
  id: string;
  enabled: boolean;
  preferred_provider_order: string[];
  quota_ceiling: Record<string, unknown>;
  /** Encrypted. */
  customer_credentials: string | null;
};

type Tables = {
  operation_overrides: OverrideRow & { tenant_id: string; operation_key: string };
  connectors: { tenant_id: string; id: string; api_key: string; api_base_url: string };
};

const builder = queryBuilder<Tables>();

export const findOverride = statement<{ tenantId: string; operation: string }, OverrideRow>((p) =>
  builder
    .selectFrom('operation_overrides')
    .select(['id', 'enabled', 'preferred_provider_order', 'quota_ceiling', 'customer_credentials'])
    .where('tenant_id', '=', p.tenantId)
    .where('operation_key', '=', p.operation),
);

/** Where the connectors of these names lead. */
export const listAddresses = statement<
  { tenantId: string; keys: readonly string[] },
  { api_key: string; api_base_url: string }
>((p) =>
  builder
    .selectFrom('connectors')
    .select(['api_key', 'api_base_url'])
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`api_key = any(${p.keys}::text[])`),
);

/** No order of the tenant names it any longer. */
export const dropFromOrders = statement<{ tenantId: string; key: string }, never>((p) =>
  builder
    .updateTable('operation_overrides')
    .set({ preferred_provider_order: sql`array_remove(preferred_provider_order, ${p.key}::text)` })
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`${p.key}::text = any(preferred_provider_order)`),
);
