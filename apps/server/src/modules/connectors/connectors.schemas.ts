import Type, { type Static } from 'typebox';

import { FreeObject, Timestamp, Uuid, closed, dataOf, freeObjectOfAtMost, nullable, paging } from '#core/base/schemas';

const maxJsonBytes = 16_384;

const categories = ['system_sync', 'app_service', 'integration', 'communication'] as const;
export const statuses = ['active', 'degraded', 'offline', 'error', 'unknown'] as const;

const categoryDescription = 'Kind of service; it determines which operations the connector can serve.';
const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
const BaseUrl = Type.String({ minLength: 1, maxLength: 2000, format: 'provider-uri', pattern: '^[^#\\\\]*$' });
const Priority = Type.Integer({ minimum: 1, maximum: 100, description: 'Order of failover; 1 is tried first.' });
const Tag = Type.String({ minLength: 1, maxLength: 50, pattern: '\\S' });

const tagsDescription = 'Labels for filtering; no effect on calls.';
const configDescription = 'Settings of the adapter, such as `adapter`, `channels` or `model`.';
const storedObject = (description: string) =>
  Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), { description });
const Status = Type.Enum(statuses, { description: 'Health state of the connector.' });
const optionalTimestamp = (description: string) => nullable(Timestamp, { description });

const optionalFields = {
  config: Type.Optional(
    freeObjectOfAtMost(maxJsonBytes, {
      description: `${configDescription} At most ${maxJsonBytes} bytes as JSON.`,
    }),
  ),
  auth_config: Type.Optional(
    nullable(freeObjectOfAtMost(maxJsonBytes), {
      description: `Credentials for the provider, stored encrypted; a masked value keeps the stored one. At most ${maxJsonBytes} bytes as JSON.`,
    }),
  ),
  enabled: Type.Optional(Type.Boolean({ description: 'Whether calls may use the connector.' })),
  priority: Type.Optional(Priority),
  description: Type.Optional(nullable(Type.String({ maxLength: 2000 }))),
  tags: Type.Optional(nullable(Type.Array(Tag, { maxItems: 50, uniqueItems: true }), { description: tagsDescription })),
};

export const CreateConnectorBody = closed({
  api_key: Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: '\\S',
    description: 'Identifier, unique in the tenant; not a secret.',
  }),
  api_name: Name,
  api_base_url: BaseUrl,
  ...optionalFields,
  category: Type.Optional(Type.Enum(categories, { default: 'app_service', description: categoryDescription })),
});
export type CreateConnectorBody = Static<typeof CreateConnectorBody>;

export const UpdateConnectorBody = closed(
  {
    api_name: Type.Optional(Name),
    api_base_url: Type.Optional(BaseUrl),
    ...optionalFields,
    category: Type.Optional(Type.Enum(categories, { description: categoryDescription })),
  },
  { minProperties: 1 },
);
export type UpdateConnectorBody = Static<typeof UpdateConnectorBody>;

const Connector = closed(
  {
    id: Uuid,
    tenantId: nullable(Uuid, { description: 'Tenant of the connector; null for connectors of the installation.' }),
    api_key: Type.String(),
    api_name: Type.String(),
    api_base_url: Type.String(),
    config: storedObject(configDescription),
    auth_config: nullable(FreeObject, {
      description: 'Credentials for the provider with masked values; null without credentials.',
    }),
    enabled: Type.Boolean({ description: 'Whether an administrator has the connector enabled.' }),
    priority: Type.Integer(),
    status: Status,
    last_health_check: optionalTimestamp('Time of the latest health check (RFC 3339, UTC); null before the first.'),
    last_success: optionalTimestamp('Time of the latest success (RFC 3339, UTC); null before the first.'),
    last_error: optionalTimestamp('Time of the latest failure (RFC 3339, UTC); null before the first.'),
    error_message: nullable(Type.String()),
    error_details: nullable(FreeObject, {
      description: 'Kind of the latest error, and its HTTP status or missing settings; null without an error.',
    }),
    consecutive_failures: Type.Integer(),
    auto_disable_threshold: Type.Integer({ description: 'Consecutive failures after which calls skip the connector.' }),
    auto_disabled: Type.Boolean({ description: 'Whether calls skip the connector because of its failures.' }),
    description: nullable(Type.String()),
    tags: nullable(Type.Array(Type.String()), { description: tagsDescription }),
    category: Type.Enum(categories, { description: categoryDescription }),
    created_at: Timestamp,
    updated_at: Timestamp,
    created_by: nullable(Uuid),
  },
  { title: 'Connector' },
);

export const ConnectorAnswer = dataOf(Connector);
export const ConnectorPage = closed({
  data: Type.Array(Connector),
  total: Type.Integer(),
  limit: Type.Integer(),
  offset: Type.Integer(),
});

export const ConnectorTest = dataOf(
  closed({
    ok: Type.Boolean({ description: 'Whether the provider answered as expected.' }),
    status: Type.Enum(statuses, { description: 'Health state of the connector after the check.' }),
    latency_ms: Type.Integer(),
    error_message: nullable(Type.String()),
  }),
);

export const ListConnectorsQuery = Type.Object({
  ...paging,
  category: Type.Optional(Type.Enum(categories, { description: categoryDescription })),
  status: Type.Optional(Status),
  enabled: Type.Optional(Type.Boolean({ description: 'Whether an administrator has the connector enabled.' })),
  tag: Type.Optional(Type.String({ maxLength: 50, description: 'Tag that the connector carries.' })),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'Text to search for in api_key, api_name and description.' }),
  ),
});
export type ListConnectorsQuery = Static<typeof ListConnectorsQuery>;
