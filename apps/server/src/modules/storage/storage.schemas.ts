import Type, { type Static } from 'typebox';

import { Uuid, closed, dataOf } from '#core/base/schemas';

const quota = Type.Optional(
  Type.Number({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description:
      'Quota limit in bytes, rounded down. If it is below the usage, files can be read and deleted but not added.',
  }),
);

export const UpdateSystemStorageBody = closed({
  enabled: Type.Optional(Type.Boolean({ description: 'Whether files can be added.' })),
  quota_bytes: quota,
});
export type UpdateStorageBody = Static<typeof UpdateSystemStorageBody>;

export const UpdateDefaultStorageBody = closed({
  enabled: Type.Optional(
    Type.Literal(true, { description: 'Always true; use system-storage to disable the storage.' }),
  ),
  quota_bytes: quota,
});

/** Both spellings of the tenant's id, because the two path families of the specification differ. */
export const TenantStorageAnswer = dataOf(
  closed(
    {
      tenantId: Uuid,
      tenant_id: Uuid,
      enabled: Type.Boolean({ description: 'Whether files can be added.' }),
      quota_bytes: Type.Number({ description: 'Quota limit in bytes.' }),
      usage_bytes: Type.Number({ description: 'Usage in bytes, including uploads in progress.' }),
      available_bytes: Type.Number({ description: 'Bytes that can still be added; 0 above the quota limit.' }),
      usage_percent: Type.Number({ description: 'Usage as a percentage of the quota limit.' }),
    },
    { title: 'TenantStorage' },
  ),
);

export const StorageStatsAnswer = dataOf(
  closed(
    {
      total_tenants: Type.Number({ description: 'Number of tenants.' }),
      enabled_tenants: Type.Number({ description: 'Number of tenants that can add files.' }),
      total_quota_bytes: Type.Number({ description: 'Sum of all quota limits in bytes.' }),
      total_usage_bytes: Type.Number({ description: 'Sum of all usage in bytes.' }),
      average_usage_percent: Type.Number({ description: 'Average usage as a percentage of the quota limit.' }),
    },
    { title: 'StorageStats' },
  ),
);
