import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, freeObjectOfAtMost, paging, sortable } from '#core/base/schemas';
import { tenantFilter } from '#modules/integrations/traffic/traffic.schemas';

const maxJsonBytes = 16_384;
const orderDescription = 'The api_keys of connectors that are tried first, in this order; others follow by priority.';
const configDescription = 'Free data of the tenant; no effect on calls.';
const storedObject = (description: string) =>
  Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), { description });
const ApiKey = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });

export const SaveTenantOverrideBody = closed({
  tenantId: Uuid,
  operation_key: Type.String({ minLength: 1, maxLength: 100 }),
  enabled: Type.Boolean({
    description: 'Whether the operation is allowed; false refuses it with 403 OPERATION_DISABLED.',
  }),
  preferred_provider_order: Type.Optional(
    Type.Array(ApiKey, {
      maxItems: 50,
      uniqueItems: true,
      description: orderDescription,
    }),
  ),
  quota_ceiling: Type.Optional(
    Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
      'x-maxJsonBytes': maxJsonBytes,
      description:
        'Quota limits, positive integers: requests_per_minute, requests_per_day, requests_per_month, characters_per_day, characters_per_month and tokens_per_month. Other keys have no effect.',
    }),
  ),
  override_config: Type.Optional(
    freeObjectOfAtMost(maxJsonBytes, { description: `${configDescription} At most ${maxJsonBytes} bytes as JSON.` }),
  ),
  customer_credentials: Type.Optional(
    Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
      'x-maxJsonBytes': maxJsonBytes,
      description:
        'Credentials of the tenant that replace the auth_config of a connector, by its api_key. A flat object is for the first connector of preferred_provider_order. A masked value keeps the stored one; {} removes all.',
    }),
  ),
});
export type SaveTenantOverrideBody = Static<typeof SaveTenantOverrideBody>;

const fields = {
  id: Uuid,
  tenantId: Uuid,
  operation_id: Type.String({ format: 'uuid', description: 'Operation, by identifier.' }),
  enabled: Type.Boolean({ description: 'Whether the operation is allowed.' }),
  customer_credentials: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Credentials of the tenant by api_key, with masked values.',
  }),
  quota_ceiling: storedObject('Quota limits by key.'),
  preferred_provider_order: Type.Array(Type.String(), { description: orderDescription }),
  override_config: storedObject(configDescription),
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
    Type.String({ maxLength: 200, description: 'Text to search for in operation_key and preferred_provider_order.' }),
  ),
  operation_key: Type.Optional(Type.String({ maxLength: 100 })),
});
export type ListTenantOverridesQuery = Static<typeof ListTenantOverridesQuery>;
