import Type, { type Static } from 'typebox';

import { Uuid, closed, dataOf } from '#core/http/schemas';

const quota = Type.Optional(
  Type.Number({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Bytes, rounded down. Below the usage: nothing can be added, what is there can be read and deleted.',
  }),
);

export const UpdateSystemStorageBody = closed({ enabled: Type.Optional(Type.Boolean()), quota_bytes: quota });
export type UpdateStorageBody = Static<typeof UpdateSystemStorageBody>;

export const UpdateDefaultStorageBody = closed({
  enabled: Type.Optional(Type.Literal(true, { description: 'Must remain true here.' })),
  quota_bytes: quota,
});

/** Both spellings of the tenant's id, as the two families of paths have them. */
export const TenantStorageAnswer = dataOf(
  closed(
    {
      tenantId: Uuid,
      tenant_id: Uuid,
      enabled: Type.Boolean(),
      quota_bytes: Type.Number(),
      usage_bytes: Type.Number(),
      available_bytes: Type.Number(),
      usage_percent: Type.Number(),
    },
    { title: 'TenantStorage' },
  ),
);

export const StorageStatsAnswer = dataOf(
  closed(
    {
      total_tenants: Type.Number(),
      enabled_tenants: Type.Number(),
      total_quota_bytes: Type.Number(),
      total_usage_bytes: Type.Number(),
      average_usage_percent: Type.Number(),
    },
    { title: 'StorageStats' },
  ),
);
