import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { insertRow } from '#core/data/audit/audited-rows.queries';
import { auditedWrite, queryBuilder, toRead, type ReadStatement } from '#core/data/db/query';
import { typed, integer, rowById, tenantTable, text, time, uuid, type RowOf } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';

export type EntityType = 'space' | 'resource';
export type FeedbackStatus = 'new' | 'in_progress' | 'resolved' | 'dismissed';

const feedbacks = tenantTable('feedbacks', {
  tenant_id: uuid,
  id: uuid,
  space_id: uuid.orNull,
  resource_id: uuid.orNull,
  rating: integer.orNull,
  message: text,
  status: typed<FeedbackStatus>(),
  created_by: uuid.orNull,
  created_at: time,
  updated_at: time,
});
export type FeedbackRow = RowOf<typeof feedbacks>;

type Tables = { feedbacks: FeedbackRow };

const builder = queryBuilder<Tables>();

export const findFeedback = rowById(feedbacks);

export const insertFeedback = insertRow(feedbacks, { action: 'feedback.created', resourceType: 'feedback' });

export const setFeedbackStatus = auditedWrite<
  { id: string; status: FeedbackStatus; at: string } & AuditParams,
  FeedbackRow
>((p) => {
  const change = builder
    .updateTable('feedbacks')
    .set({ status: p.status, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning(feedbacks.columns);
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
  const query = filtered(tenantId, filters).select(feedbacks.columns);
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
