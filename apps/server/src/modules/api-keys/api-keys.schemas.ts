import Type, { type Static } from 'typebox';

import { ApiKeyPermissionChanges, ApiKeyPermissions } from '#core/access/flags';
import { Timestamp, Uuid, closed, dataOf, listOf, nullable, paging, sortable } from '#core/http/schemas';
import { UsageSummary } from '#core/usage/usage.schemas';

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });
const Description = nullable(Type.String({ maxLength: 500 }));
const IpWhitelist = Type.Array(Type.String({ format: 'ip-range', maxLength: 50 }), {
  maxItems: 100,
  description: 'IPv4 and IPv6 addresses and CIDR ranges; an empty list means no limit.',
});
const DeviceFingerprint = Type.String({
  minLength: 1,
  maxLength: 500,
  pattern: '\\S',
  description: 'What X-Device-Fingerprint has to carry on every request.',
});

export const CreateApiKeyBody = closed({
  name: Name,
  description: Type.Optional(Description),
  permissions: Type.Optional(ApiKeyPermissions),
  expires_at: Type.Optional(Timestamp),
  ip_whitelist: Type.Optional(IpWhitelist),
  device_fingerprint: Type.Optional(DeviceFingerprint),
});
export type CreateApiKeyBody = Static<typeof CreateApiKeyBody>;

export const CreateApiKeyQuery = Type.Object({
  template: Type.Optional(
    Type.String({ maxLength: 100, description: 'A permission template, which the permissions of the body go over.' }),
  ),
});
export type CreateApiKeyQuery = Static<typeof CreateApiKeyQuery>;

export const UpdateApiKeyBody = closed({
  name: Type.Optional(Name),
  description: Type.Optional(Description),
  permissions: Type.Optional(ApiKeyPermissionChanges),
  enabled: Type.Optional(Type.Boolean()),
  expires_at: Type.Optional(nullable(Timestamp)),
  ip_whitelist: Type.Optional(nullable(IpWhitelist)),
  device_fingerprint: Type.Optional(nullable(DeviceFingerprint)),
  mcp_write_enabled: Type.Optional(
    Type.Boolean({ description: 'Whether the key may run tools that change something.' }),
  ),
});
export type UpdateApiKeyBody = Static<typeof UpdateApiKeyBody>;

const ApiKey = closed(
  {
    id: Uuid,
    tenantId: Uuid,
    key_uuid: Uuid,
    key_preview: Type.String(),
    name: Type.String(),
    description: nullable(Type.String()),
    permissions: ApiKeyPermissions,
    mcp_write_enabled: Type.Boolean(),
    enabled: Type.Boolean(),
    expires_at: nullable(Timestamp),
    ip_whitelist: nullable(Type.Array(Type.String())),
    device_fingerprint: nullable(Type.String()),
    last_used_at: nullable(Timestamp),
    last_used_ip: nullable(Type.String()),
    request_count: Type.Integer(),
    created_by: nullable(Uuid),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'ApiKey' },
);

export const ApiKeyAnswer = dataOf(ApiKey);
export const ApiKeyList = listOf(ApiKey);
export const IssuedApiKeyAnswer = closed({
  data: ApiKey,
  fullKey: Type.String({ description: 'The key itself; it is shown this once.' }),
  message: Type.String(),
});
export const ApiKeyUsageAnswer = dataOf(UsageSummary);

export const ApiKeyTemplateList = listOf(
  closed(
    { name: Type.String(), description: Type.String(), permissions: ApiKeyPermissions },
    { title: 'ApiKeyTemplate' },
  ),
);

export const ListApiKeysQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'All rows without it.' })),
  offset: paging.offset,
  sort: sortable(['name', 'created_at']),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In name and description.' })),
  enabled: Type.Optional(Type.Boolean()),
});
export type ListApiKeysQuery = Static<typeof ListApiKeysQuery>;

const weekSeconds = 604_800;

export const RotateApiKeyQuery = Type.Object({
  grace_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: weekSeconds,
      default: 0,
      description: 'How long the previous secret stays valid beside the new one.',
    }),
  ),
});
export type RotateApiKeyQuery = Static<typeof RotateApiKeyQuery>;

/** An empty object, as the specification shows it, or no body at all. */
export const RotateApiKeyBody = nullable(closed({}));
