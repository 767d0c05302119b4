import { sql, type SelectQueryBuilder } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { deleteRow, insertRow } from '#core/data/audit/audited-rows.queries';
import { auditedWrite, queryBuilder, read, toRead, write, type ReadStatement } from '#core/data/db/query';
import { lockById, rowById, tenantTable, text, time, uuid, type ById, type RowOf } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';

export type EntityType = 'space' | 'resource';

const codes = tenantTable('qr_codes', {
  tenant_id: uuid,
  id: uuid,
  code: text,
  space_id: uuid.orNull,
  resource_id: uuid.orNull,
  label: text.orNull,
  created_by: uuid.orNull,
  created_at: time,
  updated_at: time,
  assigned_at: time.orNull,
});
export type QrCodeRow = RowOf<typeof codes>;

type Named = { tenant_id: string; id: string; name: string };
type Tables = { qr_codes: QrCodeRow; spaces: Named; resources: Named };

const builder = queryBuilder<Tables>();

export const findQrCode = rowById(codes);

/** Serialises assignments. */
export const lockQrCode = lockById(codes, 'for no key update');

/** Comes first, so that a concurrent deletion of the record cannot deadlock. */
export const shareEntity = {
  space: lockById(tenantTable('spaces'), 'for key share'),
  resource: lockById(tenantTable('resources'), 'for key share'),
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
    .select(codes.columns.map((name) => `qr_codes.${name}` as const))
    .select(sql<string | null>`coalesce(spaces.name, resources.name)`.as('entity_name'))
    .where('qr_codes.tenant_id', '=', p.tenantId)
    .where('qr_codes.code', '=', p.code),
);

export const insertQrCode = insertRow(codes, { action: 'qr_code.created', resourceType: 'qr_code' });

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
    .returning(codes.columns);
  return withAudit<QrCodeRow>(change, { action: 'qr_code.assigned', resourceType: 'qr_code' }, p);
});

export const deleteQrCode = deleteRow(codes, { action: 'qr_code.deleted', resourceType: 'qr_code' });

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
  const query = filtered(tenantId, filters).select(codes.columns);
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
