import Type, { type Static } from 'typebox';

import { FreeObject, Timestamp, Uuid, closed, dataOf, freeObjectOfAtMost, nullable, paging } from '#core/http/schemas';

const maxJsonBytes = 16_384;

const categories = ['system_sync', 'app_service', 'integration', 'communication'] as const;
export const statuses = ['active', 'degraded', 'offline', 'error', 'unknown'] as const;

const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
const BaseUrl = Type.String({ minLength: 1, maxLength: 2000, format: 'provider-uri', pattern: '^[^#\\\\]*$' });
const Priority = Type.Integer({ minimum: 1, maximum: 100, description: 'Order of failover; 1 is the highest.' });
const Tag = Type.String({ minLength: 1, maxLength: 50, pattern: '\\S' });

const optionalFields = {
  config: Type.Optional(freeObjectOfAtMost(maxJsonBytes)),
  auth_config: Type.Optional(nullable(freeObjectOfAtMost(maxJsonBytes))),
  enabled: Type.Optional(Type.Boolean()),
  priority: Type.Optional(Priority),
  description: Type.Optional(nullable(Type.String({ maxLength: 2000 }))),
  tags: Type.Optional(nullable(Type.Array(Tag, { maxItems: 50, uniqueItems: true }))),
};

export const CreateConnectorBody = closed({
  api_key: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', description: 'Identifier, no secret.' }),
  api_name: Name,
  api_base_url: BaseUrl,
  ...optionalFields,
  category: Type.Optional(Type.Enum(categories, { default: 'app_service' })),
});
export type CreateConnectorBody = Static<typeof CreateConnectorBody>;

export const UpdateConnectorBody = closed(
  {
    api_name: Type.Optional(Name),
    api_base_url: Type.Optional(BaseUrl),
    ...optionalFields,
    category: Type.Optional(Type.Enum(categories)),
  },
  { minProperties: 1 },
);
export type UpdateConnectorBody = Static<typeof UpdateConnectorBody>;

const Connector = closed(
  {
    id: Uuid,
    tenantId: nullable(Uuid),
    api_key: Type.String(),
    api_name: Type.String(),
    api_base_url: Type.String(),
    config: FreeObject,
    auth_config: nullable(FreeObject),
    enabled: Type.Boolean(),
    priority: Type.Integer(),
    status: Type.Enum(statuses),
    last_health_check: nullable(Timestamp),
    last_success: nullable(Timestamp),
    last_error: nullable(Timestamp),
    error_message: nullable(Type.String()),
    error_details: nullable(FreeObject),
    consecutive_failures: Type.Integer(),
    auto_disable_threshold: Type.Integer(),
    auto_disabled: Type.Boolean(),
    description: nullable(Type.String()),
    tags: nullable(Type.Array(Type.String())),
    category: Type.Enum(categories),
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
    ok: Type.Boolean(),
    status: Type.Enum(statuses, { description: 'Of the connector, after this.' }),
    latency_ms: Type.Integer(),
    error_message: nullable(Type.String()),
  }),
);

export const ListConnectorsQuery = Type.Object({
  ...paging,
  category: Type.Optional(Type.Enum(categories)),
  status: Type.Optional(Type.Enum(statuses)),
  enabled: Type.Optional(Type.Boolean()),
  tag: Type.Optional(Type.String({ maxLength: 50 })),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'In api_key, api_name and description.' })),
});
export type ListConnectorsQuery = Static<typeof ListConnectorsQuery>;
