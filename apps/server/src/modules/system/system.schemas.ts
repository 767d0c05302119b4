import Type from 'typebox';

import { Timestamp, closed } from '#core/http/schemas';

export const HealthQuery = Type.Object({
  level: Type.Optional(Type.Enum(['basic', 'ready', 'full'], { default: 'basic' })),
});

const Realtime = closed(
  {
    enabled: Type.Boolean(),
    status: Type.Enum(['ok', 'degraded', 'disabled']),
    ready: Type.Boolean(),
    checkedAt: Timestamp,
    version: Type.String(),
    message: Type.String(),
    metrics: closed({
      nodes: Type.Integer(),
      channels: Type.Integer(),
      clients: Type.Integer(),
      users: Type.Integer(),
      uptimeSeconds: Type.Integer(),
    }),
  },
  { title: 'RealtimeStatus' },
);

const ServiceState = closed(
  {
    status: Type.String(),
    message: Type.String(),
    responseTime: Type.Number({ description: 'Milliseconds' }),
    timestamp: Timestamp,
  },
  { title: 'ServiceState' },
);

export const Health = closed(
  {
    status: Type.Enum(['ok', 'degraded', 'healthy']),
    version: Type.String(),
    timestamp: Timestamp,
    degradedServices: Type.Optional(Type.Array(Type.String())),
    ready: Type.Optional(Type.Boolean()),
    environment: Type.Optional(Type.String()),
    services: Type.Optional(Type.Record(Type.String(), ServiceState)),
    externalApis: Type.Optional(
      closed({
        total: Type.Integer(),
        active: Type.Integer(),
        statusBreakdown: Type.Record(Type.String(), Type.Integer()),
      }),
    ),
    hostedBackendUrl: Type.String(),
    realtime: Realtime,
  },
  { title: 'Health' },
);

export const Info = closed(
  {
    status: Type.Enum(['healthy', 'degraded']),
    version: closed({
      version: Type.String(),
      major: Type.Integer(),
      minor: Type.Integer(),
      build: Type.Integer(),
      buildDate: Timestamp,
    }),
    timestamp: Timestamp,
    environment: Type.String(),
    uptime: Type.Number({ description: 'Seconds' }),
    services: Type.Record(Type.String(), ServiceState),
    realtime: Realtime,
  },
  { title: 'SystemInfo' },
);
