import Type, { type Static } from 'typebox';

import { ApiKeyPermissionChanges, ApiKeyPermissions } from '#core/base/access/flags';
import { Timestamp, Uuid, closed, dataOf, listOf, nullable, paging, sortable } from '#core/base/schemas';
import { UsageSummary } from '#core/data/usage/usage.schemas';

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });
const Description = nullable(Type.String({ maxLength: 500 }));
const IpWhitelist = Type.Array(Type.String({ format: 'ip-range', maxLength: 50 }), {
  maxItems: 100,
  description:
    'Addresses that may use the key: IPv4, IPv6 and CIDR ranges without host bits; an empty list allows every address.',
});
const DeviceFingerprint = Type.String({
  minLength: 1,
  maxLength: 500,
  pattern: '\\S',
  description: 'Required value of the `X-Device-Fingerprint` header of every request.',
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
    Type.String({ maxLength: 100, description: 'Name of a permission template; permissions of the body override it.' }),
  ),
});
export type CreateApiKeyQuery = Static<typeof CreateApiKeyQuery>;

export const UpdateApiKeyBody = closed({
  name: Type.Optional(Name),
  description: Type.Optional(Description),
  permissions: Type.Optional(ApiKeyPermissionChanges),
  enabled: Type.Optional(Type.Boolean()),
  expires_at: Type.Optional(nullable(Timestamp)),
  ip_whitelist: Type.Optional(
    Type.With(nullable(IpWhitelist), {
      description:
        'Addresses that may use the key: IPv4, IPv6 and CIDR ranges without host bits; null or an empty list allows every address.',
    }),
  ),
  device_fingerprint: Type.Optional(
    Type.With(nullable(DeviceFingerprint), {
      description: 'Required value of the `X-Device-Fingerprint` header of every request; null for no requirement.',
    }),
  ),
  mcp_write_enabled: Type.Optional(
    Type.Boolean({ description: 'Whether the key may call MCP tools that change data.' }),
  ),
});
export type UpdateApiKeyBody = Static<typeof UpdateApiKeyBody>;

const ApiKey = closed(
  {
    id: Uuid,
    tenantId: Uuid,
    key_uuid: Type.With(Uuid, { description: 'Identifier inside the key itself; not the identifier of the record.' }),
    key_preview: Type.String({ description: 'Beginning and last four characters of the key.' }),
    name: Type.String(),
    description: nullable(Type.String()),
    permissions: ApiKeyPermissions,
    mcp_write_enabled: Type.Boolean({ description: 'Whether the key may call MCP tools that change data.' }),
    enabled: Type.Boolean(),
    expires_at: nullable(Timestamp),
    ip_whitelist: Type.With(nullable(Type.Array(Type.String())), {
      description: 'Addresses and CIDR ranges that may use the key; null or an empty list allows every address.',
    }),
    device_fingerprint: Type.With(nullable(Type.String()), {
      description: 'Required value of the `X-Device-Fingerprint` header; null for no requirement.',
    }),
    last_used_at: nullable(Timestamp),
    last_used_ip: Type.With(nullable(Type.String()), {
      description: 'Client address of the latest use; null if unused.',
    }),
    request_count: Type.Integer({ description: 'Number of requests since the key was created.' }),
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
  fullKey: Type.String({ description: 'The key itself; only this answer shows it.' }),
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
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 200, description: 'Maximum number of records in the answer; by default all.' }),
  ),
  offset: paging.offset,
  sort: sortable(['name', 'created_at']),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Words to search for in name and description.' })),
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
      description: 'Grace period of the previous secret in seconds; 0 revokes it at once.',
    }),
  ),
});
export type RotateApiKeyQuery = Static<typeof RotateApiKeyQuery>;

/** The specification shows an empty object; clients may also send no body. */
export const RotateApiKeyBody = nullable(closed({}));
