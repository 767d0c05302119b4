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
  type LockStatement,
  type ReadStatement,
  type WriteStatement,
} from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';

export type FileStatus = 'uploading' | 'stored' | 'deleting';

export type FileRow = {
  tenant_id: string;
  id: string;
  name: string;
  content_type: string;
  size_bytes: number;
  sha256: string | null;
  space_id: string | null;
  resource_id: string | null;
  contact_id: string | null;
  avatar_of: string | null;
  created_by: string | null;
  created_at: string;
  updated_at: string;
};

type OwnerColumn = 'space_id' | 'resource_id' | 'contact_id' | 'avatar_of';
type EntityColumn = Exclude<OwnerColumn, 'avatar_of'>;
type Record_ = { tenant_id: string; id: string };
type Tables = {
  files: FileRow & { status: FileStatus; lease_until: string | null };
  spaces: Record_;
  resources: Record_;
  contacts: Record_;
  users: Record_ & { status: string };
};
type ById = { tenantId: string; id: string };

/** Lease of an upload or deletion without a heartbeat. */
export const leaseMs = 60_000;

const builder = queryBuilder<Tables>();

const columns = [
  'tenant_id',
  'id',
  'name',
  'content_type',
  'size_bytes',
  'sha256',
  'space_id',
  'resource_id',
  'contact_id',
  'avatar_of',
  'created_by',
  'created_at',
  'updated_at',
] as const;

const stored = (p: ById) =>
  builder
    .selectFrom('files')
    .select(columns)
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
    .select(columns)
    .where('tenant_id', '=', p.tenantId)
    .where('avatar_of', '=', p.userId)
    .where('status', '=', 'stored'),
);

/** Locks the user until the end of the transaction, so that avatar changes are serialized. */
export const lockUser = lock<ById, { id: string }>((p) =>
  builder
    .selectFrom('users')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '<>', 'deleted')
    .forNoKeyUpdate(),
);

export const findUser = read<ById, { id: string }>((p) =>
  builder
    .selectFrom('users')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '<>', 'deleted'),
);

const entityRows = {
  space: (p: ById) =>
    builder.selectFrom('spaces').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
  resource: (p: ById) =>
    builder.selectFrom('resources').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
  contact: (p: ById) =>
    builder.selectFrom('contacts').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
};

type EntityStatements<Found> = Record<keyof typeof entityRows, (params: ById) => Found>;

/** Whether the record of the files exists. */
export const findEntity: EntityStatements<ReadStatement<{ id: string }>> = {
  space: read(entityRows.space),
  resource: read(entityRows.resource),
  contact: read(entityRows.contact),
};

/** Locks the record until the end of the transaction, so that it is not deleted before the file is attached. */
export const shareEntity: EntityStatements<LockStatement<{ id: string }>> = {
  space: lock((p) => entityRows.space(p).forKeyShare()),
  resource: lock((p) => entityRows.resource(p).forKeyShare()),
  contact: lock((p) => entityRows.contact(p).forKeyShare()),
};

/** Inserts the row before the bytes. */
export const insertUpload = write<FileRow, { id: string }>((p) => {
  const row = Object.fromEntries(columns.map((name) => [name, p[name]])) as FileRow;
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
    .returning(columns);

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

export type FileChanges = Partial<Pick<FileRow, 'name' | EntityColumn>> & { updated_at: string };

export function updateFile(id: string, changes: FileChanges, audit: AuditParams): WriteStatement<FileRow> {
  const change = builder
    .updateTable('files')
    .set(changes)
    .where('tenant_id', '=', audit.tenantId)
    .where('id', '=', id)
    .where('status', '=', 'stored')
    .returning(columns);
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
  const query = filtered(tenantId, filters).select(columns);
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
