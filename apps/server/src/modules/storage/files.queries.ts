import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { fromNow } from '#core/data/db/lease';
import {
  auditedWrite,
  lock,
  queryBuilder,
  read,
  searchPatterns,
  toAuditedWrite,
  toRead,
  write,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { integer, lockById, rowById, tenantTable, text, time, uuid, type ById, type RowOf } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';

export type FileStatus = 'uploading' | 'stored' | 'deleting';

const files = tenantTable('files', {
  tenant_id: uuid,
  id: uuid,
  name: text,
  content_type: text,
  size_bytes: integer,
  sha256: text.orNull,
  space_id: uuid.orNull,
  resource_id: uuid.orNull,
  contact_id: uuid.orNull,
  avatar_of: uuid.orNull,
  created_by: uuid.orNull,
  created_at: time,
  updated_at: time,
});
export type FileRow = RowOf<typeof files>;

type OwnerColumn = 'space_id' | 'resource_id' | 'contact_id' | 'avatar_of';
type Tables = { files: FileRow & { status: FileStatus; lease_until: string | null } };

/** Lease of an upload or deletion without a heartbeat. */
export const leaseMs = 60_000;

const builder = queryBuilder<Tables>();

const stored = (p: ById) =>
  builder
    .selectFrom('files')
    .select(files.columns)
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'stored')
    .where('avatar_of', 'is', null);

export const findFile = read<ById, FileRow>((p) => stored(p));

/** Locks the file until the end of the transaction, so that the checked version is the changed one. */
export const lockFile = lock<ById, FileRow>((p) => stored(p).forNoKeyUpdate());

export const findAvatar = read<{ tenantId: string; userId: string }, FileRow>((p) =>
  builder
    .selectFrom('files')
    .select(files.columns)
    .where('tenant_id', '=', p.tenantId)
    .where('avatar_of', '=', p.userId)
    .where('status', '=', 'stored'),
);

const users = tenantTable('users', { id: uuid }, ['status', '<>', 'deleted']);

/** Avatar changes are serialized. */
export const lockUser = lockById(users, 'for no key update');
export const findUser = rowById(users);

const spaces = tenantTable('spaces');
const resources = tenantTable('resources');
const contacts = tenantTable('contacts');

/** Whether the record of the files exists. */
export const findEntity = { space: rowById(spaces), resource: rowById(resources), contact: rowById(contacts) };

/** The record is not deleted before the file is attached. */
export const shareEntity = {
  space: lockById(spaces, 'for key share'),
  resource: lockById(resources, 'for key share'),
  contact: lockById(contacts, 'for key share'),
};

/** Inserts the row before the bytes. */
export const insertUpload = write<FileRow, { id: string }>((p) => {
  const row = Object.fromEntries(files.columns.map((name) => [name, p[name]])) as FileRow;
  return builder
    .insertInto('files')
    .values({ ...row, tenant_id: p.tenant_id, status: 'uploading', lease_until: fromNow(leaseMs) })
    .returning('id');
});

/** No row if the sweep has given up the upload. */
export const renewLease = write<ById, { id: string }>((p) =>
  builder
    .updateTable('files')
    .set({ lease_until: fromNow(leaseMs) })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'uploading')
    .returning('id'),
);

/** Locks the upload until the end of the transaction; no row if it was given up or its record was deleted. */
export const lockUpload = lock<ById, { id: string }>((p) =>
  builder
    .selectFrom('files')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'uploading')
    .forNoKeyUpdate(),
);

type Completion = ById & { sha256: string; at: string };

const completed = (p: Completion) =>
  builder
    .updateTable('files')
    .set({ status: 'stored', lease_until: null, sha256: p.sha256, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'uploading')
    .returning(files.columns);

/** Makes the upload a file; no row if it was given up or its record was deleted. */
export const completeUpload = auditedWrite<Completion & AuditParams, FileRow>((p) =>
  withAudit<FileRow>(
    completed(p),
    { action: 'file.created', resourceType: 'file', counts: { table: 'files', by: 1 } },
    p,
  ),
);

/** Makes the upload an avatar; its audit event names the user. */
export const completeAvatar = write<Completion, FileRow>((p) => completed(p));

export type FileChanges = Partial<Pick<FileRow, 'name' | Exclude<OwnerColumn, 'avatar_of'>>> & { updated_at: string };

export function updateFile(id: string, changes: FileChanges, audit: AuditParams): WriteStatement<FileRow> {
  const change = builder
    .updateTable('files')
    .set(changes)
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .where('status', '=', 'stored')
    .returning(files.columns);
  return toAuditedWrite(withAudit<FileRow>(change, { action: 'file.updated', resourceType: 'file' }, audit));
}

const nobodys = { space_id: null, resource_id: null, contact_id: null, avatar_of: null, status: 'deleting' } as const;

/** No file of its record any more; the sweep removes what remains of it after the lease. */
export const retired = { ...nobodys, lease_until: fromNow(leaseMs) };

/** Retires the file; its row stays until its object is removed. */
export const retireFile = auditedWrite<{ id: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .updateTable('files')
    .set(retired)
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'stored')
    .returning('id');
  return withAudit<{ id: string }>(
    change,
    { action: 'file.deleted', resourceType: 'file', counts: { table: 'files', by: -1 } },
    p,
  );
});

export type Retired = { id: string; size_bytes: number };

const retireStored = (column: OwnerColumn) =>
  write<ById, Retired>((p) =>
    builder
      .updateTable('files')
      .set(retired)
      .where('tenant_id', '=', p.tenantId)
      .where(column, '=', p.id)
      .where('status', '=', 'stored')
      .returning(['id', 'size_bytes']),
  );

// The lease is unchanged: the uploader notices that it cannot renew it, and cleans up.
const retireUnfinished = (column: OwnerColumn) =>
  write<ById, Retired>((p) =>
    builder
      .updateTable('files')
      .set(nobodys)
      .where('tenant_id', '=', p.tenantId)
      .where(column, '=', p.id)
      .where('status', '=', 'uploading')
      .returning(['id', 'size_bytes']),
  );

/** Retires the files of a record, or the avatar of a user, before its deletion. */
export const retireOwned = {
  space_id: { stored: retireStored('space_id'), unfinished: retireUnfinished('space_id') },
  resource_id: { stored: retireStored('resource_id'), unfinished: retireUnfinished('resource_id') },
  contact_id: { stored: retireStored('contact_id'), unfinished: retireUnfinished('contact_id') },
  avatar_of: { stored: retireStored('avatar_of'), unfinished: retireUnfinished('avatar_of') },
};

export type FileFilters = {
  search?: string | undefined;
  entityType?: 'space' | 'resource' | 'contact' | undefined;
  entityId?: string | undefined;
};

export type FileOrder = { column: 'name' | 'created_at' | 'size_bytes'; descending: boolean };

/** Newest first by default; ids are UUIDv7, so their order is the order of creation. */
export function listFiles(
  tenantId: string,
  filters: FileFilters,
  { limit, offset, order = { column: 'created_at', descending: true } }: Page,
): ReadStatement<FileRow> {
  const direction = order.descending ? 'desc' : 'asc';
  const query = filtered(tenantId, filters).select(files.columns);
  const by = { name: sql`lower(name)`, created_at: sql.ref('id'), size_bytes: sql.ref('size_bytes') }[order.column];
  return toRead(query.orderBy(by, direction).orderBy('id', direction).limit(limit).offset(offset));
}

type Page = { limit: number; offset: number; order: FileOrder | undefined };

export function countFiles(tenantId: string, filters: FileFilters): ReadStatement<{ total: number }> {
  return countMatches(filtered(tenantId, filters).select('id'));
}

type FileSelect = SelectQueryBuilder<Tables, 'files', object>;

const columnsByType = { space: 'space_id', resource: 'resource_id', contact: 'contact_id' } as const;

function filtered(tenantId: string, { search, entityType, entityId }: FileFilters): FileSelect {
  let query: FileSelect = builder
    .selectFrom('files')
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'stored')
    .where('avatar_of', 'is', null);
  if (entityType !== undefined) query = query.where(columnsByType[entityType], 'is not', null);
  if (entityId !== undefined) {
    const places = entityType === undefined ? Object.values(columnsByType) : [columnsByType[entityType]];
    query = query.where((where) => where.or(places.map((column) => where(column, '=', entityId))));
  }
  for (const pattern of searchPatterns(search)) {
    query = query.where(sql<boolean>`lower(name) like lower(${pattern})`);
  }
  return query;
}
