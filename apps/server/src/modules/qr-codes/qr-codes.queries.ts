import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, lock, queryBuilder, read, toRead, write, type ReadStatement } from '#core/data/db/query';
import { countMatches } from '#core/data/db/totals';

export type EntityType = 'space' | 'resource';

export type QrCodeRow = {
  tenant_id: string;
  id: string;
  code: string;
  space_id: string | null;
  resource_id: string | null;
  label: string | null;
  created_by: string | null;
  created_at: string;
  updated_at: string;
  assigned_at: string | null;
};

type Named = { tenant_id: string; id: string; name: string };
type Tables = { qr_codes: QrCodeRow; spaces: Named; resources: Named };
type ById = { tenantId: string; id: string };

const builder = queryBuilder<Tables>();

const columns = [
  'tenant_id',
  'id',
  'code',
  'space_id',
  'resource_id',
  'label',
  'created_by',
  'created_at',
  'updated_at',
  'assigned_at',
] as const;

export const findQrCode = read<ById, QrCodeRow>((p) =>
  builder.selectFrom('qr_codes').select(columns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

/** Locks the row until the transaction ends, which serialises assignments. */
export const lockQrCode = lock<ById, QrCodeRow>((p) =>
  builder
    .selectFrom('qr_codes')
    .select(columns)
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .forNoKeyUpdate(),
);

/** Locks the record until the transaction ends. It comes first, so that a concurrent deletion of the record cannot deadlock. */
export const shareEntity = {
  space: lock<ById, { id: string }>((p) =>
    builder.selectFrom('spaces').select('id').where('tenant_id', '=', p.tenantId).where('id', '=', p.id).forKeyShare(),
  ),
  resource: lock<ById, { id: string }>((p) =>
    builder
      .selectFrom('resources')
      .select('id')
      .where('tenant_id', '=', p.tenantId)
      .where('id', '=', p.id)
      .forKeyShare(),
  ),
} as const satisfies Record<EntityType, unknown>;

export type ResolvedQrCodeRow = QrCodeRow & { entity_name: string | null };

export const resolveQrCode = read<{ tenantId: string; code: string }, ResolvedQrCodeRow>((p) =>
  builder
    .selectFrom('qr_codes')
    .leftJoin('spaces', (join) =>
      join.onRef('spaces.tenant_id', '=', 'qr_codes.tenant_id').onRef('spaces.id', '=', 'qr_codes.space_id'),
    )
    .leftJoin('resources', (join) =>
      join.onRef('resources.tenant_id', '=', 'qr_codes.tenant_id').onRef('resources.id', '=', 'qr_codes.resource_id'),
    )
    .select(columns.map((name) => `qr_codes.${name}` as const))
    .select(sql<string | null>`coalesce(spaces.name, resources.name)`.as('entity_name'))
    .where('qr_codes.tenant_id', '=', p.tenantId)
    .where('qr_codes.code', '=', p.code),
);

export const insertQrCode = auditedWrite<QrCodeRow & AuditParams, QrCodeRow>((p) => {
  const row = Object.fromEntries(columns.map((name) => [name, p[name]])) as QrCodeRow;
  const change = builder.insertInto('qr_codes').values(row).returning(columns);
  return withAudit<QrCodeRow>(
    change,
    { action: 'qr_code.created', resourceType: 'qr_code', counts: { table: 'qr_codes', by: 1 } },
    p,
  );
});

type Assignment = {
  id: string;
  spaceId: string | null;
  resourceId: string | null;
  assignedAt: string | null;
  at: string;
};

export const assignQrCode = auditedWrite<Assignment & AuditParams, QrCodeRow>((p) => {
  const change = builder
    .updateTable('qr_codes')
    .set({ space_id: p.spaceId, resource_id: p.resourceId, assigned_at: p.assignedAt, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning(columns);
  return withAudit<QrCodeRow>(change, { action: 'qr_code.assigned', resourceType: 'qr_code' }, p);
});

export const deleteQrCode = auditedWrite<{ id: string } & AuditParams, { id: string }>((p) => {
  const change = builder
    .deleteFrom('qr_codes')
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning('id');
  return withAudit<{ id: string }>(
    change,
    { action: 'qr_code.deleted', resourceType: 'qr_code', counts: { table: 'qr_codes', by: -1 } },
    p,
  );
});

/** Called before the space is deleted: its codes can be assigned again. */
export const releaseQrCodesOfSpace = write<ById & { at: string }, never>((p) =>
  builder
    .updateTable('qr_codes')
    .set({ space_id: null, assigned_at: null, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('space_id', '=', p.id),
);

/** Called before the resource is deleted: its codes can be assigned again. */
export const releaseQrCodesOfResource = write<ById & { at: string }, never>((p) =>
  builder
    .updateTable('qr_codes')
    .set({ resource_id: null, assigned_at: null, updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('resource_id', '=', p.id),
);

export type QrCodeFilters = {
  entityType?: EntityType | undefined;
  entityId?: string | undefined;
  assigned?: boolean | undefined;
};

/** Orders by id: ids are UUIDv7, so their order is the order of creation. */
export function listQrCodes(
  tenantId: string,
  filters: QrCodeFilters,
  page: { limit: number; offset: number; oldestFirst: boolean },
): ReadStatement<QrCodeRow> {
  const query = filtered(tenantId, filters).select(columns);
  return toRead(
    query
      .orderBy('id', page.oldestFirst ? 'asc' : 'desc')
      .limit(page.limit)
      .offset(page.offset),
  );
}

export function countQrCodes(tenantId: string, filters: QrCodeFilters): ReadStatement<{ total: number }> {
  return countMatches(filtered(tenantId, filters).select('id'));
}

type QrCodeSelect = SelectQueryBuilder<Tables, 'qr_codes', object>;

function filtered(tenantId: string, { entityType, entityId, assigned }: QrCodeFilters): QrCodeSelect {
  let query: QrCodeSelect = builder.selectFrom('qr_codes').where('tenant_id', '=', tenantId);
  if (entityType === 'space') query = query.where('space_id', 'is not', null);
  if (entityType === 'resource') query = query.where('resource_id', 'is not', null);
  if (entityId !== undefined) {
    query = query.where((where) => where.or([where('space_id', '=', entityId), where('resource_id', '=', entityId)]));
  }
  if (assigned === false) query = query.where('space_id', 'is', null).where('resource_id', 'is', null);
  if (assigned === true) query = query.where('assigned_at', 'is not', null);
  return query;
}
