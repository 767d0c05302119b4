import { toBuffer } from 'qrcode';

import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { newBytes } from '#core/base/crypto/secrets';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { pageOfMatches, pageOfTable } from '#core/data/db/totals';
import { toPage, type SetHeader } from '#core/http/paging';
import { EntityIncomplete, QrCodeNotFound } from '#modules/qr-codes/qr-codes.errors';
import {
  assignQrCode as assignQrCodeRow,
  countQrCodes,
  deleteQrCode as deleteQrCodeRow,
  findQrCode,
  insertQrCode,
  listQrCodes as listQrCodeRows,
  shareEntity,
  lockQrCode,
  resolveQrCode as resolveQrCodeRow,
  type QrCodeRow,
} from '#modules/qr-codes/qr-codes.queries';
import type { AssignQrCodeBody, CreateQrCodeBody, ListQrCodesQuery } from '#modules/qr-codes/qr-codes.schemas';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };

export async function listQrCodes({ db, setHeader }: { db: TenantDb; setHeader: SetHeader }, query: ListQrCodesQuery) {
  const { limit = 50, offset = 0, sort, entity_type: entityType, entity_id: entityId, assigned } = query;
  const filters = { entityType, entityId, assigned };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const page = listQrCodeRows(db.tenantId, filters, { limit, offset, oldestFirst: sort === 'created_at' });
  const { rows, ...total } = isFiltered
    ? await pageOfMatches(db, page, countQrCodes(db.tenantId, filters), { limit, offset })
    : await pageOfTable(db, page, 'qr_codes', offset);
  return toPage(rows.map(presentQrCode), { limit, offset }, total, setHeader);
}

/** @throws QrCodeNotFound */
export async function getQrCode(db: TenantDb, id: string) {
  return { data: presentQrCode(await findExisting(db, id)) };
}

export async function createQrCode({ db, actor, now }: Scope, body: CreateQrCodeBody) {
  const at = now().toISOString();
  const row = await db.interactive.first(
    insertQrCode({
      id: newId(),
      // 128 random bits.
      code: newBytes(16).toString('base64url'),
      space_id: null,
      resource_id: null,
      label: body.label ?? null,
      created_by: actor.userId,
      created_at: at,
      updated_at: at,
      assigned_at: null,
      ...auditParams(actor, at),
    }),
  );
  return { data: presentQrCode(row!) };
}

/**
 * Assigns a code to a record, moves it, or removes the assignment. Repeating the call changes nothing.
 * @throws EntityIncomplete, QrCodeNotFound, SpaceNotFound and ResourceNotFound (through the foreign keys)
 */
export async function assignQrCode({ db, actor, now }: Scope, id: string, body: AssignQrCodeBody) {
  const { entity_type: entityType, entity_id: entityId } = body;
  if ((entityType === null) !== (entityId === null)) throw EntityIncomplete();
  const spaceId = entityType === 'space' ? entityId : null;
  const resourceId = entityType === 'resource' ? entityId : null;
  const { tenantId } = db;
  const at = now().toISOString();
  const row = await db.transaction(async (tx) => {
    if (entityType !== null && entityId !== null) await tx.first(shareEntity[entityType]({ tenantId, id: entityId }));
    const current = await tx.first(lockQrCode({ tenantId, id }));
    if (current === undefined) throw QrCodeNotFound();
    if (current.space_id === spaceId && current.resource_id === resourceId) return current;
    const assignedAt = entityId === null ? null : at;
    const audit = auditParams(actor, at, { entityType, entityId });
    return tx.first(assignQrCodeRow({ id, spaceId, resourceId, assignedAt, at, ...audit }));
  });
  return { data: presentQrCode(row!) };
}

/** @throws QrCodeNotFound */
export async function deleteQrCode({ db, actor, now }: Scope, id: string): Promise<void> {
  const row = await db.interactive.first(deleteQrCodeRow({ id, ...auditParams(actor, now().toISOString()) }));
  if (row === undefined) throw QrCodeNotFound();
}

/** Finds the record of a scanned code. @throws QrCodeNotFound */
export async function resolveQrCode(db: TenantDb, code: string) {
  const row = await db.first(resolveQrCodeRow({ tenantId: db.tenantId, code }));
  if (row === undefined) throw QrCodeNotFound();
  const { id, label, entity_type, entity_id } = presentQrCode(row);
  return { data: { id, code: row.code, label, entity_type, entity_id, entity_name: row.entity_name } };
}

/** Draws the code alone, without a URL, because no page serves it. @throws QrCodeNotFound */
export async function drawQrCode(db: TenantDb, id: string): Promise<Buffer> {
  const { code } = await findExisting(db, id);
  return toBuffer(code, { type: 'png', errorCorrectionLevel: 'Q', scale: 8, margin: 4 });
}

async function findExisting(db: TenantDb, id: string): Promise<QrCodeRow> {
  const row = await db.first(findQrCode({ tenantId: db.tenantId, id }));
  if (row === undefined) throw QrCodeNotFound();
  return row;
}

function presentQrCode(row: QrCodeRow) {
  const entityId = row.space_id ?? row.resource_id;
  const entityType = row.space_id === null ? ('resource' as const) : ('space' as const);
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    code: row.code,
    entity_type: entityId === null ? null : entityType,
    entity_id: entityId,
    label: row.label,
    created_by: row.created_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
    assigned_at: row.assigned_at,
  };
}
