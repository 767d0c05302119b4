import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, queryBuilder, read, toRead, type ReadStatement } from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';

export type EntityType = 'space' | 'resource';
export type FeedbackStatus = 'new' | 'in_progress' | 'resolved' | 'dismissed';

export type FeedbackRow = {
  tenant_id: string;
  id: string;
  space_id: string | null;
  resource_id: string | null;
  rating: number | null;
  message: string;
  status: FeedbackStatus;
  created_by: string | null;
  created_at: string;
  updated_at: string;
};

type Tables = { feedbacks: FeedbackRow };

const builder = queryBuilder<Tables>();

const columns = [
  'tenant_id',
  'id',
  'space_id',
  'resource_id',
  'rating',
  'message',
  'status',
  'created_by',
  'created_at',
  'updated_at',
] as const;

export const findFeedback = read<{ tenantId: string; id: string }, FeedbackRow>((p) =>
  builder.selectFrom('feedbacks').select(columns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

export const insertFeedback = auditedWrite<FeedbackRow & AuditParams, FeedbackRow>((p) => {
  const row = Object.fromEntries(columns.map((name) => [name, p[name]])) as FeedbackRow;
  const change = builder.insertInto('feedbacks').values(row).returning(columns);
  return withAudit<FeedbackRow>(change, { action: 'feedback.created', resourceType: 'feedback' }, p);
});

export const setFeedbackStatus = auditedWrite<
  { id: string; status: FeedbackStatus; at: string } & AuditParams,
  FeedbackRow
>((p) => {
  const change = builder
    .updateTable('feedbacks')
    .set({ status: p.status, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning(columns);
  return withAudit<FeedbackRow>(change, { action: 'feedback.updated', resourceType: 'feedback' }, p);
});

export type FeedbackFilters = {
  entityType?: EntityType | undefined;
  entityId?: string | undefined;
  status?: FeedbackStatus | undefined;
  rating?: number | undefined;
  createdBy?: string | undefined;
};

/** Orders by id: ids are UUIDv7, so their order is the order of creation. */
export function listFeedbacks(
  tenantId: string,
  filters: FeedbackFilters,
  page: { limit: number; offset: number; oldestFirst: boolean },
): ReadStatement<FeedbackRow> {
  const query = filtered(tenantId, filters).select(columns);
  return toRead(
    query
      .orderBy('id', page.oldestFirst ? 'asc' : 'desc')
      .limit(page.limit)
      .offset(page.offset),
  );
}

export function countFeedbacks(tenantId: string, filters: FeedbackFilters): ReadStatement<{ total: number }> {
  return countMatches(filtered(tenantId, filters).select('id'));
}

type FeedbackSelect = SelectQueryBuilder<Tables, 'feedbacks', object>;

function filtered(tenantId: string, filters: FeedbackFilters): FeedbackSelect {
  const { entityType, entityId, status, rating, createdBy } = filters;
  let query: FeedbackSelect = builder.selectFrom('feedbacks').where('tenant_id', '=', tenantId);
  if (entityType === 'space') query = query.where('space_id', 'is not', null);
  if (entityType === 'resource') query = query.where('resource_id', 'is not', null);
  if (entityId !== undefined) {
    query = query.where((where) => where.or([where('space_id', '=', entityId), where('resource_id', '=', entityId)]));
  }
  if (status !== undefined) query = query.where('status', '=', status);
  if (rating !== undefined) query = query.where('rating', '=', sql<number>`${rating}::smallint`);
  if (createdBy !== undefined) query = query.where('created_by', '=', createdBy);
  return query;
}
