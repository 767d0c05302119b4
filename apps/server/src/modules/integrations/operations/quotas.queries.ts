import { queryBuilder, toRead, type ReadStatement } from '#core/data/db/query';

export type UsedRow = {
  tenant_id: string;
  operation_key: string;
  unit: 'requests' | 'characters' | 'tokens';
  period: 'minute' | 'day' | 'month';
  starts_at: string;
  used: number;
};

const builder = queryBuilder<{ operation_quota: UsedRow }>();

/** Usage of an operation in periods that start at that time or later. */
export function listUsed(of: { tenantId: string; operationKey: string; since: string }): ReadStatement<UsedRow> {
  return toRead(
    builder
      .selectFrom('operation_quota')
      .selectAll()
      .where('tenant_id', '=', of.tenantId)
      .where('operation_key', '=', of.operationKey)
      .where('starts_at', '>=', of.since),
  );
}
