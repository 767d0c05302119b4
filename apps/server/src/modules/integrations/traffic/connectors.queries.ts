import { sql } from 'kysely';

import { queryBuilder, toRead, type ReadStatement } from '#core/data/db/query';
import type { ConnectorStatus } from '#modules/integrations/traffic/traffic.queries';

export type HealthRow = {
  tenant_id: string;
  id: string;
  api_key: string;
  api_name: string;
  status: ConnectorStatus;
  enabled: boolean;
  auto_disabled: boolean;
  consecutive_failures: number;
  last_health_check: string | null;
  last_latency_ms: number | null;
  retry_at: string | null;
  error_message: string | null;
};

const builder = queryBuilder<{ connectors: HealthRow }>();

/** @param tenantId undefined for all tenants; only with the platform connection. */
export function countStatuses(
  tenantId: string | undefined,
): ReadStatement<{ status: ConnectorStatus; connectors: number }> {
  return toRead(
    connectors(tenantId)
      .select(['status', sql<number>`count(*)`.as('connectors')])
      .groupBy('status'),
  );
}

/** @param tenantId undefined for all tenants; only with the platform connection. */
export function listHealth(tenantId: string | undefined, limit: number): ReadStatement<HealthRow> {
  return toRead(
    connectors(tenantId)
      .select([
        'tenant_id',
        'id',
        'api_key',
        'api_name',
        'status',
        'enabled',
        'auto_disabled',
        'consecutive_failures',
        'last_health_check',
        'last_latency_ms',
        'retry_at',
        'error_message',
      ])
      .orderBy(sql`last_health_check desc nulls last`)
      .orderBy('id')
      .limit(limit),
  );
}

function connectors(tenantId: string | undefined) {
  const all = builder.selectFrom('connectors');
  return tenantId === undefined ? all : all.where('tenant_id', '=', tenantId);
}
