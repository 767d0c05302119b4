import { flagsOf, mergePermissions, neededToGrant, type ApiKeyPermissions } from '#core/base/access/flags';
import { assertHolds } from '#core/base/access/granting';
import type { Actor } from '#core/base/access/principal';
import { newId, newRandomId } from '#core/base/crypto/ids';
import { keyedHash, newAlphanumericSecret } from '#core/base/crypto/secrets';
import { auditParams } from '#core/data/audit/audit.queries';
import type { Query } from '#core/data/db/query';
import { announceRevocation } from '#core/data/db/revocation';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { usageOf } from '#core/data/usage/usage.queries';
import { parseSort, type SetHeader } from '#core/http/paging';
import type { Services } from '#core/platform/services';
import {
  ApiKeyNotFound,
  ExpiresInThePast,
  PreviousSecretNotFound,
  UnknownTemplate,
} from '#modules/api-keys/api-keys.errors';
import {
  deleteApiKey as deleteApiKeyRow,
  deleteDirectoryEntry,
  deletePreviousSecret as deletePreviousSecretOfRow,
  findApiKey,
  insertApiKey,
  insertDirectoryEntry,
  listApiKeys as listApiKeyRows,
  lockApiKey,
  replaceSecret,
  updateApiKey as updateApiKeyRow,
  type ApiKeyChanges,
  type ApiKeyRow,
  type LockedApiKey,
} from '#modules/api-keys/api-keys.queries';
import { composeKey, keyHashPurpose, previewOf, secretEndOf } from '#modules/api-keys/api-keys.rules';
import type { CreateApiKeyBody, ListApiKeysQuery, UpdateApiKeyBody } from '#modules/api-keys/api-keys.schemas';
import { findTemplate } from '#modules/api-keys/api-keys.templates';
import { securityNotice, wakeNotices } from '#modules/notifications/index';

type Dependencies = Pick<Services, 'encryption' | 'log' | 'now' | 'principals' | 'queue'>;

type Scope = { db: TenantDb; actor: Actor; services: Dependencies };

const shownOnce = 'Keep the key now: it is not shown again.';

export async function listApiKeys(db: TenantDb, query: ListApiKeysQuery) {
  const { limit, offset = 0, sort, search, enabled } = query;
  const rows = await db.interactive.all(
    listApiKeyRows(db.tenantId, { limit, offset, order: parseSort(sort), search, enabled }),
  );
  return { data: rows.map(presentApiKey) };
}

/** @throws ApiKeyNotFound */
export async function getApiKey(db: TenantDb, id: string) {
  const row = await db.first(findApiKey({ tenantId: db.tenantId, id }));
  if (row === undefined) throw ApiKeyNotFound();
  return { data: presentApiKey(row) };
}

/** @throws UnknownTemplate, ExpiresInThePast, PermissionsAboveOwn */
export async function createApiKey({ db, actor, services }: Scope, body: CreateApiKeyBody, template?: string) {
  const { tenantId } = db;
  const permissions = mergePermissions(permissionsOf(template), body.permissions ?? {});
  assertMayGrant(actor, permissions);
  const now = services.now();
  const expiresAt = toStored(body.expires_at);
  if (expiresAt !== null && Date.parse(expiresAt) <= now.getTime()) throw ExpiresInThePast();
  const at = now.toISOString();
  const [id, keyUuid] = [newId(), newRandomId()];
  const { fullKey, ...secret } = newSecret(services, keyUuid);
  const key = {
    id,
    key_uuid: keyUuid,
    name: body.name,
    description: body.description ?? null,
    permissions,
    expires_at: expiresAt,
    ip_whitelist: body.ip_whitelist ?? null,
    device_fingerprint: body.device_fingerprint ?? null,
    created_by: actor.userId,
    created_at: at,
    ...secret,
  };
  const [, , [row]] = await db.interactive.batch([
    insertApiKey({ ...key, ...auditParams(actor, at, { fields: Object.keys(body) }) }),
    insertDirectoryEntry({ tenantId, keyUuid }),
    findApiKey({ tenantId, id }),
    ...keyNotices(actor, { event: 'api_key_created', name: body.name, at }),
  ]);
  await wakeNotices(services, tenantId);
  return { data: presentApiKey(row!), fullKey, message: shownOnce };
}

/** Changes apply to the next request of the key. @throws ApiKeyNotFound, PermissionsAboveOwn */
export async function updateApiKey({ db, actor, services }: Scope, id: string, body: UpdateApiKeyBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getApiKey(db, id);
  const { permissions: change, expires_at: expiresAt, ...rest } = body;
  const row = await changeKey({ db, actor, services }, id, async (tx, key) => {
    const at = services.now().toISOString();
    const changes: ApiKeyChanges = { ...rest, updated_at: at };
    if (expiresAt !== undefined) changes.expires_at = toStored(expiresAt);
    if (change !== undefined) {
      changes.permissions = mergePermissions(key.permissions, change);
      assertMayGrant(actor, changes.permissions);
    }
    await tx.all(updateApiKeyRow(key.id, changes, auditParams(actor, at, { fields })));
    return tx.first(findApiKey({ tenantId: db.tenantId, id: key.id }));
  });
  return { data: presentApiKey(row!) };
}

/** @throws ApiKeyNotFound, PermissionsAboveOwn */
export function deleteApiKey(scope: Scope, id: string): Promise<void> {
  const { db, actor, services } = scope;
  return changeKey(scope, id, async (tx, key) => {
    const at = services.now().toISOString();
    await tx.all(deleteApiKeyRow({ id: key.id, at, ...auditParams(actor, at) }));
    await tx.all(deleteDirectoryEntry({ tenantId: db.tenantId, keyUuid: key.key_uuid }));
  });
}

/**
 * Rotates the secret of the key; the previous one is revoked now, or after `graceSeconds`.
 * @throws ApiKeyNotFound, PermissionsAboveOwn
 */
export async function rotateApiKey(scope: Scope & { setHeader: SetHeader }, id: string, graceSeconds: number) {
  const { db, actor, services, setHeader } = scope;
  const rotated = await changeKey(scope, id, async (tx, key) => {
    const now = services.now();
    const at = now.toISOString();
    const { fullKey, ...secret } = newSecret(services, key.key_uuid);
    const validUntil = graceSeconds === 0 ? null : new Date(now.getTime() + graceSeconds * 1000).toISOString();
    const change = {
      id: key.id,
      ...secret,
      previous_secret_hash: validUntil === null ? null : key.secret_hash,
      previous_secret_expires_at: validUntil,
      updated_at: at,
    };
    for (const query of keyNotices(actor, { event: 'api_key_rotated', name: key.name, at, creator: key.created_by }))
      await tx.all(query);
    await tx.all(replaceSecret({ ...change, ...auditParams(actor, at) }));
    const row = await tx.first(findApiKey({ tenantId: db.tenantId, id: key.id }));
    return { row: row!, fullKey, validUntil };
  });
  await wakeNotices(services, db.tenantId);
  if (rotated.validUntil !== null) setHeader('x-previous-key-valid-until', rotated.validUntil);
  return { data: presentApiKey(rotated.row), fullKey: rotated.fullKey, message: shownOnce };
}

/** @throws ApiKeyNotFound, PreviousSecretNotFound, PermissionsAboveOwn */
export function deletePreviousSecret(scope: Scope, id: string): Promise<void> {
  const { actor, services } = scope;
  return changeKey(scope, id, async (tx, key) => {
    const at = services.now().toISOString();
    const row = await tx.first(deletePreviousSecretOfRow({ id: key.id, at, ...auditParams(actor, at) }));
    if (row === undefined) throw PreviousSecretNotFound();
  });
}

/** @throws ApiKeyNotFound */
export async function getApiKeyUsage({ db, services }: Omit<Scope, 'actor'>, id: string) {
  const { tenantId } = db;
  const [keys, [summary]] = await db.interactive.batch([
    findApiKey({ tenantId, id }),
    usageOf({ tenantId, credentialId: id }, services.now()),
  ]);
  if (keys.length === 0) throw ApiKeyNotFound();
  return { data: summary };
}

/** Locks the row of the key during `change`; afterwards no process uses the cached principal. */
async function changeKey<Result>(
  { db, actor, services }: Scope,
  id: string,
  change: (tx: Transaction, key: LockedApiKey) => Promise<Result>,
): Promise<Result> {
  const { result, subject } = await db.transaction(async (tx) => {
    const key = await tx.first(lockApiKey({ tenantId: db.tenantId, id }));
    if (key === undefined) throw ApiKeyNotFound();
    assertMayGrant(actor, key.permissions);
    const named = `api_key:${key.id}` as const;
    await tx.all(announceRevocation(named));
    return { result: await change(tx, key), subject: named };
  });
  services.principals.forget(subject);
  return result;
}

type KeyEvent = { event: 'api_key_created' | 'api_key_rotated'; name: string; at: string; creator?: string | null };

/**
 * Notifies the creator of a key, since it may be an intruder with the creator's session; a rotation also notifies the
 * creator of the rotated key. Users of other tenants cannot be notified in this tenant.
 */
function keyNotices(actor: Actor, { name: subject, at, event, creator = null }: KeyEvent): Query<never>[] {
  const { tenantId, request } = actor;
  const own = tenantId === actor.homeTenantId ? actor.userId : null;
  const concerned = [...new Set([own, creator])].filter((userId) => userId !== null);
  return concerned.map((userId) => securityNotice({ tenantId, userId, event, subject, request }, at));
}

function assertMayGrant(actor: Actor, permissions: ApiKeyPermissions): void {
  assertHolds(actor, neededToGrant(flagsOf(permissions)));
}

function permissionsOf(template: string | undefined): ApiKeyPermissions {
  if (template === undefined) return {};
  const found = findTemplate(template);
  if (found === undefined) throw UnknownTemplate();
  return found.permissions;
}

function newSecret({ encryption }: Dependencies, keyUuid: string) {
  const { fullKey, secret } = composeKey(keyUuid, newAlphanumericSecret());
  const hash = keyedHash(encryption.keyFor(keyHashPurpose), secret);
  return { fullKey, secret_hash: hash, secret_preview: secretEndOf(secret) };
}

/** Truncated to milliseconds: the database would round finer values up, and a key would live too long. */
function toStored(time: string | null | undefined): string | null {
  return time === null || time === undefined ? null : new Date(time.toUpperCase()).toISOString();
}

function presentApiKey(row: ApiKeyRow) {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    key_uuid: row.key_uuid,
    key_preview: previewOf(row.key_uuid, row.secret_preview),
    name: row.name,
    description: row.description,
    permissions: row.permissions,
    mcp_write_enabled: row.mcp_write_enabled,
    enabled: row.enabled,
    expires_at: row.expires_at,
    // An empty list restricts nothing, like null.
    ip_whitelist: row.ip_whitelist?.length === 0 ? null : row.ip_whitelist,
    device_fingerprint: row.device_fingerprint,
    last_used_at: row.last_used_at,
    last_used_ip: row.last_used_ip,
    request_count: row.request_count,
    created_by: row.created_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
