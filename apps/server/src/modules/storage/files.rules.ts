import { ContactNotFound, ResourceNotFound, SpaceNotFound, UserNotFound } from '#modules/storage/files.errors';

/** Records that a file may be attached to: the column, and the error for a missing record. */
export const entities = {
  space: { column: 'space_id', notFound: SpaceNotFound },
  resource: { column: 'resource_id', notFound: ResourceNotFound },
  contact: { column: 'contact_id', notFound: ContactNotFound },
} as const;

export type EntityType = keyof typeof entities;
export type Entity = { type: EntityType; id: string };

export const entityTypes = Object.keys(entities) as [EntityType, ...EntityType[]];

/** The owner of a file: a record, or a user for an avatar. */
export type Owner = Entity | { type: 'avatar'; id: string };

type OwnerColumns = Record<'space_id' | 'resource_id' | 'contact_id' | 'avatar_of', string | null>;

export function ownerColumns(owner: Owner | undefined): OwnerColumns {
  const none = { space_id: null, resource_id: null, contact_id: null, avatar_of: null };
  return owner === undefined ? none : { ...none, [columnOf(owner.type)]: owner.id };
}

export function columnOf(type: Owner['type']): keyof OwnerColumns {
  return type === 'avatar' ? 'avatar_of' : entities[type].column;
}

export function entityOf(row: Omit<OwnerColumns, 'avatar_of'>): Entity | undefined {
  for (const type of entityTypes) {
    const id = row[entities[type].column];
    if (id !== null) return { type, id };
  }
  return undefined;
}

/** Maps the foreign keys to these errors. */
export const missingOwners: Readonly<Record<string, typeof SpaceNotFound>> = {
  files_space: SpaceNotFound,
  files_resource: ResourceNotFound,
  files_contact: ContactNotFound,
  files_avatar: UserNotFound,
};

const token = "[\\w!#$%&'*+.^`|~-]+";
const parameter = `\\s*;\\s*${token}=(?:${token}|"[^"\\\\]*")`;
const mediaType = new RegExp(`^${token}/${token}(?:${parameter})*\\s*;?$`);

/** One media type with its parameters (RFC 9110 section 8.3.1). */
export function isMediaType(text: string): boolean {
  return text.length <= 255 && mediaType.test(text);
}

/** Picture formats that every browser supports, by their first bytes. */
const signatures: Readonly<Record<string, (head: Buffer) => boolean>> = {
  'image/png': (head) => head.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])),
  'image/jpeg': (head) => head.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff])),
  'image/webp': (head) => head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP',
};

export const pictureTypes = Object.keys(signatures) as [string, ...string[]];
export const signatureBytes = 12;

export function isPicture(contentType: string, head: Buffer): boolean {
  return signatures[contentType]?.(head) ?? false;
}

export type StorageState = {
  enabled: boolean;
  quota_bytes: number | null;
  usage_bytes: number;
  reserved_bytes: number;
};

/**
 * Quota and usage of a tenant. Usage counts the bytes of its files, avatars included, and the announced bytes of running uploads.
 */
export function figuresOf(state: StorageState | undefined, defaultQuotaBytes: number) {
  const quota = state?.quota_bytes ?? defaultQuotaBytes;
  const usage = (state?.usage_bytes ?? 0) + (state?.reserved_bytes ?? 0);
  return {
    enabled: state?.enabled ?? true,
    quota_bytes: quota,
    usage_bytes: usage,
    available_bytes: Math.max(0, quota - usage),
    usage_percent: Math.round((usage / quota) * 10_000) / 100,
  };
}
