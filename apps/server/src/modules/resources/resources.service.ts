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
import { releaseQrCodesOfResource } from '#modules/qr-codes/index';
import {
  ParentNotFound,
  PropertyNotAllowed,
  ResourceCycle,
  ResourceHasChildren,
  ResourceNotFound,
  PropertiesTooLarge,
} from '#modules/resources/resources.errors';
import {
  countResources,
  deleteResource as deleteResourceRow,
  findResource,
  insertResource,
  listResources as listResourceRows,
  lockResource,
  lockResourceForChange,
  recordDeletion,
  resourceTree,
  shareResource,
  updateResource as updateResourceRow,
  type ResourceChanges,
  type ResourceRow,
} from '#modules/resources/resources.queries';
import { changedProperties, namesNotAllowed, visiblePart, type Visible } from '#modules/resources/resources.rules';
import type { CreateResourceBody, ListResourcesQuery, UpdateResourceBody } from '#modules/resources/resources.schemas';
import { assertTranslationsFit, maxJsonBytes, shareSpace } from '#modules/spaces/index';
import { removeObjects, retireFilesOf } from '#modules/storage/index';
import { assertPropertiesFit, shareTypeDefinition } from '#modules/type-definitions/index';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };
type Deletion = Omit<Scope, 'now'> & { services: Pick<Services, 'database' | 'files' | 'log' | 'now'> };
type Reader = { db: TenantDb; actor: Actor };
type Properties = Record<string, unknown>;

export async function listResources(
  { db, actor, setHeader }: Reader & { setHeader: SetHeader },
  query: ListResourcesQuery,
) {
  const { limit = 50, offset = 0, sort, status, tag_id: tagId, name, serial } = query;
  const filters = {
    search: await planSearch(db, 'resources', query.search),
    status,
    tagId,
    name,
    serial,
    spaceId: orNull(query.space_id),
    parentId: orNull(query.parent_id),
    typeId: orNull(query.type_id),
  };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const page = listResourceRows(db.tenantId, filters, { limit, offset, order: parseSort(sort) });
  const { rows, ...total } = isFiltered
    ? await pageOfMatches(db, page, countResources(db.tenantId, filters), { limit, offset })
    : await pageOfTable(db, page, 'resources', offset);
  const visible = visibleTo(actor);
  const data = rows.map((row) => presentResource(row, visible));
  return toPage(data, { limit, offset }, total, setHeader);
}

function orNull(filter: string | undefined): string | null | undefined {
  return filter === 'null' ? null : filter;
}

/** @throws ResourceNotFound */
export async function getResource({ db, actor }: Reader, id: string) {
  const row = await db.first(findResource({ tenantId: db.tenantId, id }));
  if (row === undefined) throw ResourceNotFound();
  return { data: presentResource(row, visibleTo(actor)) };
}

/**
 * @throws PropertyNotAllowed, ParentNotFound and SpaceNotFound (through the foreign keys), TypeNotFound, TypeEntityMismatch,
 * PropertiesInvalid
 */
export async function createResource({ db, actor, now }: Scope, body: CreateResourceBody) {
  const visible = visibleTo(actor);
  const { properties = {}, type_id: typeId = null } = body;
  assertAllowed(properties, visible);
  await assertFits(db, { tenantId: db.tenantId, typeId, properties, visible });
  const at = now().toISOString();
  const insertion = insertResource({
    ...defaults,
    ...body,
    id: newId(),
    created_at: at,
    updated_at: at,
    created_by: actor.userId,
    updated_by: actor.userId,
    ...auditParams(actor, at),
  });
  const answers = await db.interactive.batch([...shareReferences(db.tenantId, body), insertion]);
  const [row] = answers.at(-1) as ResourceRow[];
  return { data: presentResource(row!, visible) };
}

/** Locks the referenced rows first: the insert or update also locks the head of an audit chain, which others wait for. */
function shareReferences(
  tenantId: string,
  { space_id: spaceId, parent_id: parentId, type_id: typeId }: CreateResourceBody | UpdateResourceBody,
): Query<{ id: string }>[] {
  const shares: Query<{ id: string }>[] = [];
  if (typeof spaceId === 'string') shares.push(shareSpace({ tenantId, id: spaceId }));
  if (typeof parentId === 'string') shares.push(shareResource({ tenantId, id: parentId }));
  if (typeof typeId === 'string') shares.push(shareTypeDefinition({ tenantId, id: typeId }));
  return shares;
}

/** Values of the fields that a create request leaves out. */
const defaults = {
  space_id: null,
  parent_id: null,
  type_id: null,
  description: null,
  translations_i18n: {},
  serial: null,
  capacity: null,
  address: null,
  geo: null,
  timezone: null,
  status: 'active',
  properties: {},
} as const;

/**
 * An empty patch changes nothing and returns the record. Every other patch is checked against the type.
 * @throws PropertyNotAllowed, ResourceNotFound, ParentNotFound, SpaceNotFound, ResourceCycle, TypeNotFound,
 * TypeEntityMismatch, PropertiesInvalid, PropertiesTooLarge, TooManyTranslations
 */
export async function updateResource({ db, actor, now }: Scope, id: string, body: UpdateResourceBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getResource({ db, actor }, id);
  const visible = visibleTo(actor);
  assertAllowed(body.properties ?? {}, visible);
  // The result of a type change would reveal whether hidden properties match the new type.
  if (visible !== undefined && body.type_id !== undefined)
    throw PropertyNotAllowed({ details: { properties: ['type_id'] } });
  const { tenantId } = db;
  const at = now().toISOString();
  const row = await db.transaction(async (tx) => {
    for (const share of shareReferences(tenantId, body)) await tx.all(share);
    if (typeof body.parent_id === 'string') await assertMovable(tx, tenantId, id, body.parent_id);
    const current = await tx.first(lockResourceForChange({ tenantId, id }));
    if (current === undefined) throw ResourceNotFound();
    const changes = toChanges(body, current, visible);
    const { type_id: typeId = current.type_id, properties = current.properties } = changes;
    await assertFits(tx, { tenantId, typeId, properties, visible });
    const written = { ...changes, updated_at: at, updated_by: actor.userId };
    const updated = (await tx.first(updateResourceRow(id, written, auditParams(actor, at, { fields }))))!;
    if (body.translations_i18n !== undefined) assertTranslationsFit(updated.translations_i18n);
    return updated;
  });
  return { data: presentResource(row, visible) };
}

function toChanges(
  body: UpdateResourceBody,
  current: Pick<ResourceRow, 'properties'>,
  visible: Visible,
): ResourceChanges {
  const changes = { ...body } as ResourceChanges;
  if (body.properties === undefined) return changes;
  const properties = changedProperties(current.properties, body.properties, visible);
  // The request was within the limit, but the merged value may exceed it.
  if (Buffer.byteLength(JSON.stringify(properties)) > maxJsonBytes) throw PropertiesTooLarge();
  return { ...changes, properties };
}

async function assertMovable(tx: Transaction, tenantId: string, id: string, parentId: string): Promise<void> {
  await tx.all(resourceTree.lock({ tenantId }));
  if ((await tx.first(findResource({ tenantId, id }))) === undefined) throw ResourceNotFound();
  if ((await tx.first(findResource({ tenantId, id: parentId }))) === undefined) throw ParentNotFound();
  if ((await tx.first(resourceTree.isWithin({ tenantId, id: parentId, ancestorId: id }))) !== undefined)
    throw ResourceCycle();
}

/** Also deletes its files, tags and feedback, and releases its QR codes. @throws ResourceNotFound, ResourceHasChildren */
export async function deleteResource({ db, actor, services }: Deletion, id: string): Promise<void> {
  const { tenantId } = db;
  const at = services.now().toISOString();
  const fileIds = await db.transaction(async (tx) => {
    if ((await tx.first(lockResource({ tenantId, id }))) === undefined) throw ResourceNotFound();
    if ((await tx.first(resourceTree.findAnyChild({ tenantId, id }))) !== undefined) throw ResourceHasChildren();
    await tx.all(releaseQrCodesOfResource({ tenantId, id, at }));
    await removeCategoryLinksOf(tx, { tenantId, entityType: 'resource', entityId: id });
    await releaseTimeOf(tx, { tenantId, id });
    const retired = await retireFilesOf(tx, { tenantId, owner: { type: 'resource', id } });
    await tx.all(deleteResourceRow({ tenantId, id }));
    await tx.all(recordDeletion({ id, ...auditParams(actor, at) }));
    return retired;
  });
  // Not awaited, because a resource may have thousands of files.
  void removeObjects(services, tenantId, fileIds);
}

function visibleTo(actor: Actor): Visible {
  return actor.kind === 'user' ? undefined : actor.properties;
}

function assertAllowed(properties: Properties, visible: Visible): void {
  const names = namesNotAllowed(properties, visible);
  if (names.length > 0) throw PropertyNotAllowed({ details: { properties: names.slice(0, 20) } });
}

async function assertFits(
  db: Pick<Reads, 'first'>,
  { typeId, ...typed }: { tenantId: string; typeId: string | null; properties: Properties; visible: Visible },
): Promise<void> {
  if (typeId !== null) await assertPropertiesFit(db, { ...typed, entityType: 'resource', typeId });
}

function presentResource(row: ResourceRow, visible: Visible) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    space_id: row.space_id,
    parent_id: row.parent_id,
    type_id: row.type_id,
    name: row.name,
    description: row.description,
    translations_i18n: row.translations_i18n,
    serial: row.serial,
    capacity: row.capacity,
    address: row.address,
    geo: row.geo,
    timezone: row.timezone,
    status: row.status,
    properties: visible === undefined ? row.properties : visiblePart(row.properties, visible),
    created_at: row.created_at,
    updated_at: row.updated_at,
    created_by: row.created_by,
    updated_by: row.updated_by,
  };
}
