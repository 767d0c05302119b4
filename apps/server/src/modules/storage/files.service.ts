import type { Actor } from '#core/base/access/principal';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { pageOfMatches, pageOfTable } from '#core/data/db/totals';
import { ObjectMissing } from '#core/data/files/object-store';
import type { Download } from '#core/http/downloads';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import type { Upload } from '#core/http/uploads';
import type { Services } from '#core/platform/services';
import { objectKey, removeObjects } from '#modules/storage/cleaning.service';
import { FileNotFound, EntityIncomplete, FileNotOwned, StoreUnavailable } from '#modules/storage/files.errors';
import {
  completeUpload,
  countFiles,
  findEntity,
  findFile,
  listFiles as listFileRows,
  lockFile,
  lockUpload,
  retireFile,
  shareEntity,
  updateFile as updateFileRow,
  type FileRow,
} from '#modules/storage/files.queries';
import { entities, entityOf, ownerColumns, type Entity, type EntityType } from '#modules/storage/files.rules';
import type { ListFilesQuery, UpdateFileBody } from '#modules/storage/files.schemas';
import { settle } from '#modules/storage/storage.queries';
import { receive, type Scope } from '#modules/storage/uploads.service';

type Reader = { db: TenantDb; services: Pick<Services, 'database' | 'files' | 'now'> };

export async function listFiles({ db, setHeader }: { db: TenantDb; setHeader: SetHeader }, query: ListFilesQuery) {
  const { limit = 50, offset = 0, sort, search, entity_type: entityType, entity_id: entityId } = query;
  const filters = { search, entityType, entityId };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const order = parseSort(sort);
  const page = listFileRows(db.tenantId, filters, { limit, offset, order });
  // No index is ordered by size, so this sort reads all files.
  const isSearch = isFiltered || order?.column === 'size_bytes';
  const { rows, ...total } = isSearch
    ? await pageOfMatches(db, page, countFiles(db.tenantId, filters), { limit, offset })
    : await pageOfTable(db, page, 'files', offset);
  return toPage(rows.map(presentFile), { limit, offset }, total, setHeader);
}

/** @throws SpaceNotFound, ResourceNotFound, ContactNotFound */
export async function listEntityFiles(
  scope: { db: TenantDb; setHeader: SetHeader },
  { type, id }: Entity,
  query: Omit<ListFilesQuery, 'entity_type' | 'entity_id'>,
) {
  const { db } = scope;
  if ((await db.first(findEntity[type]({ tenantId: db.tenantId, id }))) === undefined) throw entities[type].notFound();
  return listFiles(scope, { ...query, entity_type: type, entity_id: id });
}

/** @throws EntityIncomplete, and the errors of `receive` */
export async function uploadFile(
  scope: Scope,
  upload: Upload,
  query: { name: string; entity_type?: EntityType; entity_id?: string },
) {
  const owner = toEntity(query.entity_type ?? null, query.entity_id ?? null);
  const { actor, db } = scope;
  const row = await receive(scope, upload, {
    name: query.name,
    owner,
    async complete(tx, { id, sha256, sizeBytes, at }) {
      const audit = auditParams(actor, at, { entityType: owner?.type ?? null, entityId: owner?.id ?? null });
      const { tenantId } = db;
      if ((await tx.first(lockUpload({ tenantId, id }))) === undefined) return undefined;
      await tx.all(settle({ tenantId, usage: sizeBytes, reserved: -sizeBytes }));
      return tx.first(completeUpload({ id, sha256, at, ...audit }));
    },
  });
  return { data: presentFile(row) };
}

/** @throws FileNotFound */
export async function getFile(db: TenantDb, id: string) {
  return { data: presentFile(await findExisting(db, id)) };
}

/** @throws FileNotFound, also if the file belongs to a record other than the given one; StoreUnavailable when it is opened */
export async function downloadFile(reader: Reader, id: string, entity?: Entity): Promise<Download> {
  const row = await findExisting(reader.db, id);
  if (!isOf(row, entity)) throw FileNotFound();
  return toDownload(reader, row);
}

/** @throws StoreUnavailable, FileNotFound if the file was deleted meanwhile */
export function toDownload({ db, services }: Reader, row: FileRow): Download {
  return {
    name: row.name,
    contentType: row.content_type,
    sizeBytes: row.size_bytes,
    etag: row.sha256!,
    async open(range) {
      try {
        return await services.files.get(objectKey(db.tenantId, row.id), range);
      } catch (error) {
        if (error instanceof ObjectMissing) await findExisting(db, row.id);
        throw StoreUnavailable({ cause: error });
      }
    },
  };
}

/** An empty patch changes nothing. @throws EntityIncomplete, FileNotFound, FileNotOwned; the missing record's error */
export async function updateFile({ db, actor, services }: Scope, id: string, body: UpdateFileBody) {
  const { tenantId } = db;
  const at = services.now().toISOString();
  const { entity_type: entityType, entity_id: entityId, ...rest } = body;
  const isMoved = entityType !== undefined || entityId !== undefined;
  const entity = toEntity(entityType ?? null, entityId ?? null);
  const { avatar_of: _none, ...owner } = ownerColumns(entity);
  if ((entityType === undefined) !== (entityId === undefined)) throw EntityIncomplete();
  const changes = { ...rest, ...(isMoved ? owner : {}), updated_at: at };
  const fields = Object.keys(body);
  const row = await db.transaction(async (tx) => {
    // Locked before its file, in the same order as a deletion; the foreign key checks that it exists.
    if (entity !== undefined) await tx.all(shareEntity[entity.type]({ tenantId, id: entity.id }));
    const file = await lockOwn(tx, { tenantId, id, actor });
    if (fields.length === 0) return file;
    return tx.first(updateFileRow(id, changes, auditParams(actor, at, { fields })));
  });
  return { data: presentFile(row!) };
}

/** @throws FileNotFound, also if the file belongs to a record other than the given one; FileNotOwned */
export async function deleteFile({ db, actor, services }: Scope, id: string, entity?: Entity): Promise<void> {
  const { tenantId } = db;
  await db.transaction(async (tx) => {
    const file = await lockOwn(tx, { tenantId, id, actor, entity });
    await tx.all(settle({ tenantId, usage: -file.size_bytes, reserved: 0 }));
    await tx.all(retireFile({ id, ...auditParams(actor, services.now().toISOString()) }));
  });
  void removeObjects(services, tenantId, [id]);
}

type FileTarget = { tenantId: string; id: string; actor: Actor; entity?: Entity | undefined };

async function lockOwn(tx: Transaction, { tenantId, id, actor, entity }: FileTarget): Promise<FileRow> {
  const file = await tx.first(lockFile({ tenantId, id }));
  if (file === undefined || !isOf(file, entity)) throw FileNotFound();
  if (!mayChange(actor, file)) throw FileNotOwned();
  return file;
}

/** An API key or app account that passed the access rule holds the flag for all files of the record. */
function mayChange(actor: Actor, file: FileRow): boolean {
  if (actor.kind !== 'user') return true;
  return file.created_by === actor.userId || actor.isTenantAdmin || actor.permissions.has('files.manage');
}

function isOf(row: FileRow, entity: Entity | undefined): boolean {
  return entity === undefined || row[entities[entity.type].column] === entity.id;
}

async function findExisting(db: TenantDb, id: string): Promise<FileRow> {
  const row = await db.first(findFile({ tenantId: db.tenantId, id }));
  if (row === undefined) throw FileNotFound();
  return row;
}

function toEntity(type: EntityType | null, id: string | null): Entity | undefined {
  if ((type === null) !== (id === null)) throw EntityIncomplete();
  return type === null || id === null ? undefined : { type, id };
}

function presentFile(row: FileRow) {
  const entity = entityOf(row);
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    name: row.name,
    content_type: row.content_type,
    size_bytes: row.size_bytes,
    sha256: row.sha256,
    entity_type: entity?.type ?? null,
    entity_id: entity?.id ?? null,
    created_by: row.created_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
