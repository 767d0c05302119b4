import type { Actor, Person } from '#core/base/access/principal';
import { auditEvent } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import type { Download } from '#core/http/downloads';
import type { Upload } from '#core/http/uploads';
import type { Services } from '#core/platform/services';
import { removeObjects, retireFilesOf } from '#modules/storage/cleaning.service';
import {
  AvatarNotFound,
  FileTooLarge,
  PictureInvalid,
  AvatarNotOwned,
  PictureTypeRequired,
  UserNotFound,
} from '#modules/storage/files.errors';
import {
  completeAvatar,
  findAvatar,
  findUser,
  lockUser,
  retireOwned,
  type FileRow,
} from '#modules/storage/files.queries';
import { isPicture, pictureTypes } from '#modules/storage/files.rules';
import { toDownload } from '#modules/storage/files.service';
import { settle } from '#modules/storage/storage.queries';
import { receive } from '#modules/storage/uploads.service';

type Dependencies = Pick<Services, 'database' | 'files' | 'log' | 'now' | 'settings'>;

type Scope = { db: TenantDb; actor: Actor<Person>; services: Dependencies };

const avatarLimitBytes = 1_048_576;

/**
 * Replaces the avatar of a user; the old one stays until the new one is complete.
 * @throws AvatarNotOwned, UserNotFound, PictureTypeRequired, FileTooLarge, PictureInvalid, and the errors of `receive`
 */
export async function saveAvatar(scope: Scope, userId: string, upload: Upload) {
  const { db, actor, services } = scope;
  const { tenantId } = db;
  assertMayChange(actor, userId);
  if ((await db.first(findUser({ tenantId, id: userId }))) === undefined) throw UserNotFound();
  const { sizeBytes } = upload;
  // Media types are case-insensitive (RFC 9110 section 8.3.1).
  const contentType = upload.contentType.toLowerCase();
  if (!pictureTypes.includes(contentType)) throw PictureTypeRequired();
  if (sizeBytes > avatarLimitBytes) throw FileTooLarge({ details: { limit_bytes: avatarLimitBytes } });
  let replaced: string[] = [];
  const row = await receive(
    scope,
    { ...upload, contentType },
    {
      name: `avatar.${contentType.slice('image/'.length)}`,
      owner: { type: 'avatar', id: userId },
      inspect: (head) => {
        if (!isPicture(contentType, head)) throw PictureInvalid();
      },
      async complete(tx, { id, sha256, at }) {
        if ((await tx.first(lockUser({ tenantId, id: userId }))) === undefined) throw UserNotFound();
        const others = await tx.all(retireOwned.avatar_of.stored({ tenantId, id: userId }));
        const stored = await tx.first(completeAvatar({ tenantId, id, sha256, at }));
        if (stored === undefined) return undefined;
        const freed = others.reduce((sum, other) => sum + other.size_bytes, 0);
        await tx.all(settle({ tenantId, usage: sizeBytes - freed, reserved: -sizeBytes }));
        await tx.all(auditEvent(actor, at, avatarEvent('user.avatar_changed', userId)));
        replaced = others.map((other) => other.id);
        return stored;
      },
    },
  );
  void removeObjects(services, tenantId, replaced);
  return { data: presentAvatar(row) };
}

/** @throws AvatarNotFound */
export async function downloadAvatar(
  reader: { db: TenantDb; services: Dependencies },
  userId: string,
): Promise<Download> {
  const row = await reader.db.first(findAvatar({ tenantId: reader.db.tenantId, userId }));
  if (row === undefined) throw AvatarNotFound();
  return toDownload(reader, row);
}

/** @throws AvatarNotOwned, AvatarNotFound */
export async function deleteAvatar({ db, actor, services }: Scope, userId: string): Promise<void> {
  const { tenantId } = db;
  assertMayChange(actor, userId);
  const at = services.now().toISOString();
  const removed = await db.transaction(async (tx) => {
    // Locked before the files, in the same order as when an avatar is saved.
    if ((await tx.first(lockUser({ tenantId, id: userId }))) === undefined) throw AvatarNotFound();
    const ids = await retireFilesOf(tx, { tenantId, owner: { type: 'avatar', id: userId } });
    if (ids.length === 0) throw AvatarNotFound();
    await tx.all(auditEvent(actor, at, avatarEvent('user.avatar_removed', userId)));
    return ids;
  });
  void removeObjects(services, tenantId, removed);
}

function assertMayChange(actor: Actor<Person>, userId: string): void {
  const isOwn = actor.userId === userId;
  if (!isOwn && !actor.isTenantAdmin && !actor.permissions.has('users.manage')) throw AvatarNotOwned();
}

function avatarEvent(action: string, userId: string) {
  return { action, resourceType: 'user', resourceId: userId };
}

function presentAvatar(row: FileRow) {
  return {
    user_id: row.avatar_of!,
    content_type: row.content_type,
    size_bytes: row.size_bytes,
    sha256: row.sha256!,
    created_at: row.created_at,
  };
}
