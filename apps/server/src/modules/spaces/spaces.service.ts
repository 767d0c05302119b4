import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { Query } from '#core/data/db/query';
import type { Reads, TenantDb, Transaction } from '#core/data/db/scopes';
import { planSearch } from '#core/data/db/search';
import { pageOfMatches, pageOfTable } from '#core/data/db/totals';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import { releaseTimeOf } from '#modules/calendar/index';
import { removeCategoryLinksOf } from '#modules/categories/index';
import { releaseQrCodesOfSpace } from '#modules/qr-codes/index';
import {
  ParentNotFound,
  SpaceCycle,
  SpaceHasChildren,
  SpaceHasResources,
  SpaceNotFound,
  TooManyTranslations,
} from '#modules/spaces/spaces.errors';
import {
  countSpaces,
  deleteSpace as deleteSpaceRow,
  findAnyResourceWithin,
  findSpace,
  insertSpace,
  listSpaces as listSpaceRows,
  lockSpace,
  lockSpaceForChange,
  recordDeletion,
  shareSpace,
  spaceTree,
  updateSpace as updateSpaceRow,
  type SpaceChanges,
  type SpaceRow,
} from '#modules/spaces/spaces.queries';
import {
  textLimits,
  type CreateSpaceBody,
  type ListSpacesQuery,
  type UpdateSpaceBody,
} from '#modules/spaces/spaces.schemas';
import { removeObjects, retireFilesOf } from '#modules/storage/index';
import { assertPropertiesFit, shareTypeDefinition } from '#modules/type-definitions/index';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };
type Deletion = Omit<Scope, 'now'> & { services: Pick<Services, 'database' | 'files' | 'log' | 'now'> };

export async function listSpaces({ db, setHeader }: { db: TenantDb; setHeader: SetHeader }, query: ListSpacesQuery) {
  const { limit = 50, offset = 0, sort, status, tag_id: tagId } = query;
  const search = await planSearch(db, 'spaces', query.search);
  const filters = { search, status, tagId, parentId: orNull(query.parent_id), typeId: orNull(query.type_id) };
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

function orNull(filter: string | undefined): string | null | undefined {
  return filter === 'null' ? null : filter;
}

/** @throws ParentNotFound (through the foreign key), TypeNotFound, TypeEntityMismatch, PropertiesInvalid */
export async function createSpace({ db, actor, now }: Scope, body: CreateSpaceBody) {
  const at = now().toISOString();
  const { parent_id: parentId = null, type_id: typeId = null, properties = {} } = body;
  await assertFits(db, { tenantId: db.tenantId, typeId, properties });
  const insertion = insertSpace({
    id: newId(),
    parent_id: parentId,
    type_id: typeId,
    name: body.name,
    description: body.description ?? null,
    translations_i18n: body.translations_i18n ?? {},
    capacity: body.capacity ?? null,
    address: body.address ?? null,
    geo: body.geo ?? null,
    timezone: body.timezone ?? null,
    status: body.status ?? 'active',
    properties,
    created_at: at,
    updated_at: at,
    created_by: actor.userId,
    updated_by: actor.userId,
    ...auditParams(actor, at),
  });
  const answers = await db.interactive.batch([...shareReferences(db.tenantId, body), insertion]);
  const [row] = answers.at(-1) as SpaceRow[];
  return { data: presentSpace(row!) };
}

/** Locks the referenced rows first: the insert or update also locks the head of an audit chain, which others wait for. */
function shareReferences(
  tenantId: string,
  { parent_id: parentId, type_id: typeId }: CreateSpaceBody | UpdateSpaceBody,
): Query<{ id: string }>[] {
  const shares: Query<{ id: string }>[] = [];
  if (typeof parentId === 'string') shares.push(shareSpace({ tenantId, id: parentId }));
  if (typeof typeId === 'string') shares.push(shareTypeDefinition({ tenantId, id: typeId }));
  return shares;
}

/**
 * An empty patch changes nothing and returns the record. Every other patch is checked against the type.
 * @throws SpaceNotFound, ParentNotFound, SpaceCycle, TypeNotFound, TypeEntityMismatch, PropertiesInvalid, TooManyTranslations
 */
export async function updateSpace({ db, actor, now }: Scope, id: string, body: UpdateSpaceBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getSpace(db, id);
  const { tenantId } = db;
  const at = now().toISOString();
  const changes = { ...body, updated_at: at, updated_by: actor.userId } as SpaceChanges;
  const row = await db.transaction(async (tx) => {
    for (const share of shareReferences(tenantId, body)) await tx.all(share);
    if (typeof body.parent_id === 'string') await assertMovable(tx, tenantId, id, body.parent_id);
    const space = await tx.first(lockSpaceForChange({ tenantId, id }));
    if (space === undefined) throw SpaceNotFound();
    const { type_id: typeId = space.type_id, properties = space.properties } = body;
    await assertFits(tx, { tenantId, typeId, properties });
    const written = (await tx.first(updateSpaceRow(id, changes, auditParams(actor, at, { fields }))))!;
    if (body.translations_i18n !== undefined) assertTranslationsFit(written.translations_i18n);
    return written;
  });
  return { data: presentSpace(row) };
}

/** The request was within the limit, but the merged translations may exceed it. @throws TooManyTranslations */
export function assertTranslationsFit(translations: SpaceRow['translations_i18n']): void {
  const isTooMany = Object.keys(translations).length > textLimits.languages;
  if (isTooMany || Buffer.byteLength(JSON.stringify(translations)) > textLimits.bytes) throw TooManyTranslations();
}

async function assertFits(
  db: Pick<Reads, 'first'>,
  { typeId, ...typed }: { tenantId: string; typeId: string | null; properties: Record<string, unknown> },
): Promise<void> {
  if (typeId !== null) await assertPropertiesFit(db, { ...typed, entityType: 'space', typeId });
}

async function assertMovable(tx: Transaction, tenantId: string, id: string, parentId: string): Promise<void> {
  await tx.all(spaceTree.lock({ tenantId }));
  if ((await tx.first(findSpace({ tenantId, id }))) === undefined) throw SpaceNotFound();
  if ((await tx.first(findSpace({ tenantId, id: parentId }))) === undefined) throw ParentNotFound();
  if ((await tx.first(spaceTree.isWithin({ tenantId, id: parentId, ancestorId: id }))) !== undefined)
    throw SpaceCycle();
}

/**
 * Also deletes its files, contact and category links, tags and feedback, and releases its QR codes.
 * @throws SpaceNotFound, SpaceHasChildren, SpaceHasResources
 */
export async function deleteSpace({ db, actor, services }: Deletion, id: string): Promise<void> {
  const { tenantId } = db;
  const at = services.now().toISOString();
  const fileIds = await db.transaction(async (tx) => {
    if ((await tx.first(lockSpace({ tenantId, id }))) === undefined) throw SpaceNotFound();
    if ((await tx.first(spaceTree.findAnyChild({ tenantId, id }))) !== undefined) throw SpaceHasChildren();
    if ((await tx.first(findAnyResourceWithin({ tenantId, id }))) !== undefined) throw SpaceHasResources();
    await tx.all(releaseQrCodesOfSpace({ tenantId, id, at }));
    await removeCategoryLinksOf(tx, { tenantId, entityType: 'space', entityId: id });
    await releaseTimeOf(tx, { tenantId, id });
    const retired = await retireFilesOf(tx, { tenantId, owner: { type: 'space', id } });
    await tx.all(deleteSpaceRow({ tenantId, id }));
    await tx.all(recordDeletion({ id, ...auditParams(actor, at) }));
    return retired;
  });
  // Not awaited, because a space may have thousands of files.
  void removeObjects(services, tenantId, fileIds);
}

function presentSpace(row: SpaceRow) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    parent_id: row.parent_id,
    type_id: row.type_id,
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
