import Type, { type Static } from 'typebox';

import { FreeObject, Timestamp, Uuid, closed, dataOf, freeObjectOfAtMost, paging, sortable } from '#core/http/schemas';
import { tenantFilter } from '#modules/integrations/traffic/traffic.schemas';

const maxJsonBytes = 16_384;
const ApiKey = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });

export const SaveTenantOverrideBody = closed({
  tenantId: Uuid,
  operation_key: Type.String({ minLength: 1, maxLength: 100 }),
  enabled: Type.Boolean({ description: 'False refuses the operation with 403 OPERATION_DISABLED.' }),
  preferred_provider_order: Type.Optional(
    Type.Array(ApiKey, {
      maxItems: 50,
      uniqueItems: true,
      description: 'api_keys of connectors that are tried first, in this order; others follow by priority.',
    }),
  ),
  quota_ceiling: Type.Optional(
    Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
      'x-maxJsonBytes': maxJsonBytes,
      description:
        'Whole numbers from 1 on under requests_per_minute, requests_per_day, requests_per_month, characters_per_day, characters_per_month and tokens_per_month; other keys are kept without effect.',
    }),
  ),
  override_config: Type.Optional(freeObjectOfAtMost(maxJsonBytes)),
  customer_credentials: Type.Optional(
    Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
      'x-maxJsonBytes': maxJsonBytes,
      description:
        'What the tenant logs in with instead of the auth_config of a connector, by its api_key; a flat object is for the first of preferred_provider_order. A masked value that is sent back keeps what is stored, {} removes all.',
    }),
  ),
});
export type SaveTenantOverrideBody = Static<typeof SaveTenantOverrideBody>;

const fields = {
  id: Uuid,
  tenantId: Uuid,
  operation_id: Uuid,
  enabled: Type.Boolean(),
  customer_credentials: Type.Record(Type.String(), Type.Unknown(), { description: 'With every value masked.' }),
  quota_ceiling: FreeObject,
  preferred_provider_order: Type.Array(Type.String()),
  override_config: FreeObject,
  created_at: Timestamp,
  updated_at: Timestamp,
};

export const TenantOverrideAnswer = dataOf(closed(fields, { title: 'TenantOverride' }));

export const TenantOverridePage = closed({
  data: Type.Array(closed({ ...fields, operation_key: Type.String() }, { title: 'ListedTenantOverride' })),
  total: Type.Integer(),
  limit: Type.Integer(),
  offset: Type.Integer(),
});

export const ListTenantOverridesQuery = Type.Object({
  ...paging,
  ...tenantFilter,
  sort: sortable(['operation_key', 'created_at', 'updated_at']),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'In the key of the operation and in preferred_provider_order.' }),
  ),
  operation_key: Type.Optional(Type.String({ maxLength: 100 })),
});
export type ListTenantOverridesQuery = Static<typeof ListTenantOverridesQuery>;
