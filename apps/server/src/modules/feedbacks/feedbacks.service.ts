import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { createLimitedAttempt } from '#core/data/rate-limit/limited-attempts';
import { toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import { FeedbackNotFound, TooManyFeedbacks } from '#modules/feedbacks/feedbacks.errors';
import {
  countFeedbacks,
  findFeedback,
  insertFeedback,
  listFeedbacks as listFeedbackRows,
  setFeedbackStatus,
  type FeedbackRow,
} from '#modules/feedbacks/feedbacks.queries';
import type { CreateFeedbackBody, ListFeedbacksQuery, UpdateFeedbackBody } from '#modules/feedbacks/feedbacks.schemas';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };
type Author = Omit<Scope, 'now'> & { services: Pick<Services, 'database' | 'now'> };

/** Keeps one user from hiding the feedback of others. */
const limitPerUser = { max: 60, windowMs: 60 * 60_000 };

export async function listFeedbacks(
  { db, setHeader }: { db: TenantDb; setHeader: SetHeader },
  query: ListFeedbacksQuery,
) {
  const { limit = 50, offset = 0, sort, status, rating } = query;
  const filters = {
    status,
    rating,
    entityType: query.entity_type,
    entityId: query.entity_id,
    createdBy: query.created_by,
  };
  const { rows, ...total } = await pageOfMatches(
    db,
    listFeedbackRows(db.tenantId, filters, { limit, offset, oldestFirst: sort === 'created_at' }),
    countFeedbacks(db.tenantId, filters),
    { limit, offset },
  );
  return toPage(rows.map(presentFeedback), { limit, offset }, total, setHeader);
}

/** @throws FeedbackNotFound */
export async function getFeedback(db: TenantDb, id: string) {
  const row = await db.first(findFeedback({ tenantId: db.tenantId, id }));
  if (row === undefined) throw FeedbackNotFound();
  return { data: presentFeedback(row) };
}

/** @throws TooManyFeedbacks, SpaceNotFound and ResourceNotFound (through the foreign keys) */
export async function createFeedback({ db, actor, services }: Author, body: CreateFeedbackBody) {
  const key = `feedback:${actor.tenantId}:${actor.id}`;
  await createLimitedAttempt(services, [{ key, ...limitPerUser }], TooManyFeedbacks).admit();
  const at = services.now().toISOString();
  const row = await db.interactive.first(
    insertFeedback({
      id: newId(),
      space_id: body.entity_type === 'space' ? body.entity_id : null,
      resource_id: body.entity_type === 'resource' ? body.entity_id : null,
      rating: body.rating ?? null,
      message: body.message,
      status: 'new',
      created_by: actor.userId,
      created_at: at,
      updated_at: at,
      ...auditParams(actor, at),
    }),
  );
  return { data: presentFeedback(row!) };
}

/** @throws FeedbackNotFound */
export async function updateFeedback({ db, actor, now }: Scope, id: string, { status }: UpdateFeedbackBody) {
  const at = now().toISOString();
  const audit = auditParams(actor, at, { fields: ['status'] });
  const row = await db.interactive.first(setFeedbackStatus({ id, status, at, ...audit }));
  if (row === undefined) throw FeedbackNotFound();
  return { data: presentFeedback(row) };
}

function presentFeedback(row: FeedbackRow) {
  const { space_id: spaceId, resource_id: resourceId } = row;
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    entity_type: spaceId === null ? 'resource' : 'space',
    entity_id: spaceId ?? resourceId!,
    rating: row.rating,
    message: row.message,
    status: row.status,
    created_by: row.created_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
