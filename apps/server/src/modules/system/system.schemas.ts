import Type from 'typebox';

import { Timestamp, closed } from '#core/base/schemas';

export const HealthQuery = Type.Object({
  level: Type.Optional(
    Type.Enum(['basic', 'ready', 'full'], {
      default: 'basic',
      description: 'Depth of the check: the process answers, it can perform requests, or all parts.',
    }),
  ),
});

const Realtime = closed(
  {
    enabled: Type.Boolean({ description: 'Whether a realtime server is configured.' }),
    status: Type.Enum(['ok', 'degraded', 'disabled'], { description: 'State of the realtime server.' }),
    ready: Type.Boolean({ description: 'Whether the status is `ok`.' }),
    checkedAt: Type.String({
      format: 'date-time',
      maxLength: 40,
      description: 'Time of the latest check (RFC 3339, UTC).',
    }),
    version: Type.String({ description: 'Version of the realtime server; empty if unknown.' }),
    message: Type.String(),
    metrics: closed(
      {
        nodes: Type.Integer({ description: 'Number of nodes.' }),
        channels: Type.Integer({ description: 'Number of channels on all nodes.' }),
        clients: Type.Integer({ description: 'Number of connections on all nodes.' }),
        users: Type.Integer({ description: 'Number of connected users on all nodes.' }),
        uptimeSeconds: Type.Integer({ description: 'Uptime in seconds.' }),
      },
      { description: 'Counts of the realtime server; 0 if unknown.' },
    ),
  },
  { title: 'RealtimeStatus', description: 'State of the realtime messaging server.' },
);

const ServiceState = closed(
  {
    status: Type.String({ description: 'State: `healthy`, `degraded` or `unhealthy`.' }),
    message: Type.String(),
    responseTime: Type.Number({ description: 'Duration of the latest check in milliseconds.' }),
    timestamp: Timestamp,
  },
  { title: 'ServiceState' },
);

export const Health = closed(
  {
    status: Type.Enum(['ok', 'degraded', 'healthy'], {
      description: 'State of the service; `ok` or `healthy` if no part is degraded.',
    }),
    version: Type.String({ description: 'Version of the service.' }),
    timestamp: Timestamp,
    degradedServices: Type.Optional(Type.Array(Type.String(), { description: 'Parts that are not healthy.' })),
    ready: Type.Optional(Type.Boolean({ description: 'Whether the service can perform requests.' })),
    environment: Type.Optional(Type.String({ description: 'Value of the setting ENVIRONMENT.' })),
    services: Type.Optional(Type.Record(Type.String(), ServiceState, { description: 'State of each part, by name.' })),
    externalApis: Type.Optional(
      closed(
        {
          total: Type.Integer({ description: 'Number of connectors, counted up to 50,000.' }),
          active: Type.Integer({ description: 'Number of active connectors.' }),
          statusBreakdown: Type.Record(Type.String(), Type.Integer(), {
            description: 'Number of connectors by status.',
          }),
        },
        { description: 'Connectors of all tenants, counted at most every 10 seconds.' },
      ),
    ),
    hostedBackendUrl: Type.String({ description: 'Origin of the service for clients.' }),
    realtime: Realtime,
  },
  { title: 'Health' },
);

export const Info = closed(
  {
    status: Type.Enum(['healthy', 'degraded'], {
      description: 'State of the service; `healthy` if no part is degraded.',
    }),
    version: closed(
      {
        version: Type.String({ description: 'Version as `major.minor.build`.' }),
        major: Type.Integer({ description: 'First part of the version.' }),
        minor: Type.Integer({ description: 'Second part of the version.' }),
        build: Type.Integer({ description: 'Third part of the version.' }),
        buildDate: Type.String({
          format: 'date-time',
          maxLength: 40,
          description: 'Time of the release (RFC 3339, UTC).',
        }),
      },
      { description: 'Version of the service.' },
    ),
    timestamp: Timestamp,
    environment: Type.String({ description: 'Value of the setting ENVIRONMENT.' }),
    uptime: Type.Number({ description: 'Uptime of the process in seconds.' }),
    services: Type.Record(Type.String(), ServiceState, { description: 'State of each part, by name.' }),
    realtime: Realtime,
  },
  { title: 'SystemInfo' },
);
