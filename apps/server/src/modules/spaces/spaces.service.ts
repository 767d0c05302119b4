import { auditParams } from '#core/audit/audit.queries';
import type { Actor } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import type { TenantDb, Transaction } from '#core/db/scopes';
import { pageOfMatches, pageOfTable } from '#core/db/totals';
import { parseSort, toPage } from '#core/http/paging';
import { ParentNotFound, SpaceCycle, SpaceHasChildren, SpaceNotFound } from '#modules/spaces/spaces.errors';
import {
  countSpaces,
  deleteSpace as deleteSpaceRow,
  findAnyChild,
  findSpace,
  insertSpace,
  isWithin,
  listSpaces as listSpaceRows,
  lockSpace,
  lockTree,
  updateSpace as updateSpaceRow,
  type SpaceChanges,
  type SpaceRow,
} from '#modules/spaces/spaces.queries';
import type { CreateSpaceBody, ListSpacesQuery, UpdateSpaceBody } from '#modules/spaces/spaces.schemas';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };

export async function listSpaces(
  { db, setHeader }: { db: TenantDb; setHeader(name: string, value: string): void },
  query: ListSpacesQuery,
) {
  const { limit = 50, offset = 0, sort, search, status, parent_id: parent } = query;
  const filters = { search, status, parentId: parent === 'null' ? null : parent };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const page = listSpaceRows(db.tenantId, filters, { limit, offset, order: parseSort(sort) });
  const { rows, ...total } = isFiltered
    ? await pageOfMatches(db, page, countSpaces(db.tenantId, filters), { limit, offset })
    : await pageOfTable(db, page, 'spaces', offset);
  return toPage(rows.map(presentSpace), { limit, offset }, total, setHeader);
}

/** @throws SpaceNotFound */
export async function getSpace(db: TenantDb, id: string) {
  const row = await db.first(findSpace({ tenantId: db.tenantId, id }));
  if (row === undefined) throw SpaceNotFound();
  return { data: presentSpace(row) };
}

/** @throws ParentNotFound (through the foreign key) */
export async function createSpace({ db, actor, now }: Scope, body: CreateSpaceBody) {
  const at = now().toISOString();
  const parentId = body.parent_id ?? null;
  const row = await db.slow.first(
    insertSpace({
      id: newId(),
      tenant_id: db.tenantId,
      parent_id: parentId,
      name: body.name,
      description: body.description ?? null,
      translations_i18n: body.translations_i18n ?? {},
      capacity: body.capacity ?? null,
      address: body.address ?? null,
      geo: body.geo ?? null,
      timezone: body.timezone ?? null,
      status: body.status ?? 'active',
      properties: body.properties ?? {},
      created_at: at,
      updated_at: at,
      created_by: actor.userId,
      updated_by: actor.userId,
      ...auditParams(actor, at),
    }),
  );
  return { data: presentSpace(row!) };
}

/** An empty patch changes nothing and is answered with the record as it is. @throws SpaceNotFound, ParentNotFound, SpaceCycle */
export async function updateSpace({ db, actor, now }: Scope, id: string, body: UpdateSpaceBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getSpace(db, id);
  const at = now().toISOString();
  const changes = { ...body, updated_at: at, updated_by: actor.userId } as SpaceChanges;
  const update = updateSpaceRow(id, changes, auditParams(actor, at, { fields }));
  const parentId = body.parent_id;
  const row =
    typeof parentId === 'string'
      ? await db.transaction(async (tx) => {
          await assertMovable(tx, db.tenantId, id, parentId);
          return tx.first(update);
        })
      : await db.slow.first(update);
  if (row === undefined) throw SpaceNotFound();
  return { data: presentSpace(row) };
}

async function assertMovable(tx: Transaction, tenantId: string, id: string, parentId: string): Promise<void> {
  await tx.all(lockTree({ tenantId }));
  if ((await tx.first(findSpace({ tenantId, id }))) === undefined) throw SpaceNotFound();
  if ((await tx.first(findSpace({ tenantId, id: parentId }))) === undefined) throw ParentNotFound();
  if ((await tx.first(isWithin({ tenantId, id: parentId, ancestorId: id }))) !== undefined) throw SpaceCycle();
}

/** Links of contacts go with the space. @throws SpaceNotFound, SpaceHasChildren */
export function deleteSpace({ db, actor, now }: Scope, id: string): Promise<void> {
  const { tenantId } = db;
  const audit = auditParams(actor, now().toISOString());
  return db.transaction(async (tx) => {
    if ((await tx.first(lockSpace({ tenantId, id }))) === undefined) throw SpaceNotFound();
    if ((await tx.first(findAnyChild({ tenantId, id }))) !== undefined) throw SpaceHasChildren();
    await tx.all(deleteSpaceRow({ id, ...audit }));
  });
}

function presentSpace(row: SpaceRow) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    parent_id: row.parent_id,
    name: row.name,
    description: row.description,
    translations_i18n: row.translations_i18n,
    capacity: row.capacity,
    address: row.address,
    geo: row.geo,
    timezone: row.timezone,
    status: row.status,
    properties: row.properties,
    created_at: row.created_at,
    updated_at: row.updated_at,
    created_by: row.created_by,
    updated_by: row.updated_by,
  };
}
