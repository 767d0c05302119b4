import Type, { type Static } from 'typebox';

import {
  FreeObject,
  Timestamp,
  Uuid,
  closed,
  dataOf,
  freeObjectOfAtMost,
  listOf,
  nullable,
  pageOf,
  paging,
  sortable,
} from '#core/http/schemas';
import { consoleFormats, logLevels } from '#core/log/log-config';

const Level = Type.Enum(logLevels);
const Format = Type.Enum(consoleFormats);
const instant = { format: 'date-time', maxLength: 40 };
const StartTime = Type.Optional(Type.String({ ...instant, description: 'This instant and later.' }));
const EndTime = Type.Optional(Type.String({ ...instant, description: 'Before this instant.' }));

const levelList = `^(?:${logLevels.join('|')})(?:,(?:${logLevels.join('|')})){0,5}$`;

export const ListLogsQuery = Type.Object({
  ...paging,
  sort: sortable(['timestamp']),
  level: Type.Optional(
    Type.String({ pattern: levelList, maxLength: 60, description: 'A level, or several with commas between them.' }),
  ),
  service: Type.Optional(Type.String({ maxLength: 64 })),
  tenantId: Type.Optional(Uuid),
  userId: Type.Optional(Uuid),
  requestId: Type.Optional(Type.String({ maxLength: 100 })),
  startTime: StartTime,
  endTime: EndTime,
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Words in the message. Without `startTime`, of the last 24 hours, or of those before `endTime`.',
    }),
  ),
});
export type ListLogsQuery = Static<typeof ListLogsQuery>;

const LogRecord = closed(
  {
    id: Type.String(),
    timestamp: Timestamp,
    level: Level,
    message: Type.String(),
    service: Type.String(),
    tenantId: nullable(Uuid),
    userId: nullable(Uuid),
    requestId: nullable(Type.String()),
    context: FreeObject,
  },
  { title: 'LogRecord' },
);
export type LogRecord = Static<typeof LogRecord>;
export const LogPage = pageOf(LogRecord);

export const AnalyticsQuery = Type.Object({ startTime: StartTime, endTime: EndTime });
export type AnalyticsQuery = Static<typeof AnalyticsQuery>;

const milliseconds = Type.Number({ description: 'Milliseconds, within a twentieth.' });

export const Analytics = dataOf(
  closed(
    {
      errorRate: Type.Number({ description: 'Part of the requests that were answered with 400 or above, 0 to 1.' }),
      errorCount: Type.Integer(),
      totalRequests: Type.Integer(),
      responseTime: closed({ p50: milliseconds, p95: milliseconds, p99: milliseconds }),
      topErrors: Type.Array(closed({ message: Type.String(), count: Type.Integer(), lastOccurrence: Timestamp })),
      tenantActivity: Type.Array(closed({ tenantId: Uuid, requestCount: Type.Integer(), errorCount: Type.Integer() })),
    },
    { title: 'LogAnalytics' },
  ),
);

const serviceName = '^[A-Za-z][A-Za-z0-9_.-]{0,63}$';
export const maxConfiguredLevels = 100;
const LogLevels = Type.Record(Type.String({ pattern: serviceName }), Level, {
  additionalProperties: false,
  maxProperties: maxConfiguredLevels,
  description: 'Levels by the name of the service.',
});
const LevelsInForce = Type.Record(Type.String({ pattern: serviceName }), Level, {
  additionalProperties: false,
  description: 'By the name of the service: those that were configured, and what holds for the others.',
});
const Levels = Type.Array(Level, { maxItems: logLevels.length, description: 'Lines of other levels are left out.' });

const consoleFields = {
  enabled: Type.Boolean(),
  format: Format,
  colorize: Type.Boolean(),
  timestamp: Type.Boolean(),
  levels: Levels,
};
const databaseFields = {
  enabled: Type.Boolean(),
  table: Type.String({ maxLength: 63, description: 'Always application_logs.' }),
  batchSize: Type.Integer({ minimum: 1, maximum: 1000 }),
  flushInterval: Type.Integer({ minimum: 1000, maximum: 60_000, description: 'Milliseconds.' }),
  levels: Levels,
};
const formattingFields = {
  format: Type.Enum(consoleFormats, { description: 'The same as console.format.' }),
  includeTimestamp: Type.Boolean(),
  includeService: Type.Boolean(),
  includeContext: Type.Boolean(),
  redactSensitive: Type.Boolean(),
};
const RetentionDays = Type.Enum([30, 60, 90]);
const cleanupFields = {
  enabled: Type.Boolean(),
  retentionDays: RetentionDays,
  archiveEnabled: Type.Boolean(),
  archiveLocation: Type.String({ maxLength: 500 }),
  cleanupSchedule: Type.String({
    pattern: '^[0-5]?[0-9] (?:[01]?[0-9]|2[0-3]) \\* \\* \\*$',
    maxLength: 20,
    description: '`minute hour * * *`, in UTC.',
  }),
};

const Console = closed(consoleFields, { title: 'LogConsole' });
const DatabaseSection = closed(databaseFields, { title: 'LogDatabase' });
const Formatting = closed(formattingFields, { title: 'LogFormatting' });
const Cleanup = closed(cleanupFields, { title: 'LogCleanup' });

export const LogConfigAnswer = dataOf(
  closed(
    { logLevels: LevelsInForce, console: Console, database: DatabaseSection, formatting: Formatting, cleanup: Cleanup },
    { title: 'LogConfig' },
  ),
);

export const LogConfigPatch = closed({
  logLevels: Type.Optional(LogLevels),
  console: Type.Optional(Type.Partial(closed(consoleFields), { additionalProperties: false })),
  database: Type.Optional(Type.Partial(closed(databaseFields), { additionalProperties: false })),
  formatting: Type.Optional(Type.Partial(closed(formattingFields), { additionalProperties: false })),
  cleanup: Type.Optional(Type.Partial(closed(cleanupFields), { additionalProperties: false })),
});
export type LogConfigPatch = Static<typeof LogConfigPatch>;

export const SectionParams = closed({ section: Type.String({ maxLength: 40 }) });
export const SectionAnswer = dataOf(Type.Union([Console, DatabaseSection, Formatting, Cleanup, LevelsInForce]));
export const SectionPatch = freeObjectOfAtMost(16_384);

export const Applied = dataOf(closed({ message: Type.String(), applied: Type.Boolean() }));
export const Reset = dataOf(closed({ message: Type.String(), reset: Type.Boolean() }));

export const PreviewBody = closed({
  logLevels: Type.Optional(LogLevels),
  cleanup: Type.Optional(closed({ retentionDays: Type.Optional(RetentionDays) })),
});
export type PreviewBody = Static<typeof PreviewBody>;

export const Preview = dataOf(
  closed({
    affectedServices: Type.Array(Type.String()),
    estimatedLogVolume: Type.Integer({ description: 'Lines a day.' }),
    storageImpact: closed(
      { current: Type.Integer(), projected: Type.Integer(), change: Type.Integer() },
      { description: 'Bytes that the lines of the whole retention take.' },
    ),
    warnings: Type.Array(Type.String()),
  }),
);

export const sections = ['console', 'database', 'formatting', 'cleanup', 'log-levels'] as const;
export type Section = (typeof sections)[number];

export const ValidateBody = closed({ section: Type.Optional(Type.Enum(sections)), config: freeObjectOfAtMost(16_384) });
export type ValidateBody = Static<typeof ValidateBody>;

export const Validation = dataOf(
  closed({ valid: Type.Boolean(), errors: Type.Array(Type.String()), warnings: Type.Array(Type.String()) }),
);

export const ExportBody = closed({
  startTime: Type.Optional(Timestamp),
  endTime: Type.Optional(Timestamp),
  tenantId: Type.Optional(Uuid),
  level: Type.Optional(Level),
  format: Type.Optional(Type.Enum(['json', 'csv'], { default: 'json' })),
});
export type ExportBody = Static<typeof ExportBody>;

export const Exported = dataOf(
  closed({
    message: Type.String(),
    path: Type.String(),
    recordCount: Type.Integer(),
    sizeBytes: Type.Integer(),
  }),
);
export const Exports = listOf(
  closed(
    { name: Type.String(), path: Type.String(), size: Type.Integer(), createdAt: Timestamp },
    { title: 'LogExport' },
  ),
);
export const ExportParams = closed({ filename: Type.String({ maxLength: 200 }) });
export const Deleted = dataOf(closed({ message: Type.String(), deleted: Type.Boolean() }));
