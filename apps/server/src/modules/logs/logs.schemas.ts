import Type, { type Static } from 'typebox';

import {
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
} from '#core/base/schemas';
import { consoleFormats, logLevels } from '#core/data/log/log-config';

const Level = Type.Enum(logLevels);
const Format = Type.Enum(consoleFormats, { description: 'Format of lines on the console.' });
const timestamp = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description });
const instant = { format: 'date-time', maxLength: 40 };
const StartTime = Type.Optional(
  Type.String({ ...instant, description: 'Start of the time range, inclusive (RFC 3339).' }),
);
const EndTime = Type.Optional(Type.String({ ...instant, description: 'End of the time range, exclusive (RFC 3339).' }));

const levelList = `^(?:${logLevels.join('|')})(?:,(?:${logLevels.join('|')})){0,5}$`;

const lineFilters = {
  level: Type.Optional(
    Type.String({ pattern: levelList, maxLength: 60, description: 'Level, or several levels separated by commas.' }),
  ),
  service: Type.Optional(Type.String({ maxLength: 64, description: 'Part of the service that wrote the line.' })),
  tenantId: Type.Optional(Uuid),
  userId: Type.Optional(Uuid),
  requestId: Type.Optional(Type.String({ maxLength: 100 })),
  startTime: StartTime,
  endTime: EndTime,
};

export const ListLogsQuery = Type.Object({
  ...paging,
  sort: sortable(['timestamp']),
  ...lineFilters,
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'Words in the message. Without `startTime` the search covers the last 24 hours, or the 24 hours before `endTime`.',
    }),
  ),
});
export type ListLogsQuery = Static<typeof ListLogsQuery>;

export const ListArchivesQuery = Type.Object(paging);
export type ListArchivesQuery = Static<typeof ListArchivesQuery>;
export const SearchArchiveQuery = Type.Object({
  ...paging,
  ...lineFilters,
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Words in the message.' })),
});
export type SearchArchiveQuery = Static<typeof SearchArchiveQuery>;

const LogRecord = closed(
  {
    id: Type.String({ description: 'Identifier of the line.' }),
    timestamp: Timestamp,
    level: Type.Enum(logLevels, { description: 'Severity of the line.' }),
    message: Type.String(),
    service: Type.String({ description: 'Part of the service that wrote the line.' }),
    tenantId: nullable(Uuid),
    userId: nullable(Uuid),
    requestId: nullable(Type.String()),
    context: Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), {
      description: 'Other fields of the line, with secrets removed.',
    }),
  },
  { title: 'LogRecord' },
);
export type LogRecord = Static<typeof LogRecord>;
export const LogPage = pageOf(LogRecord);

export const AnalyticsQuery = Type.Object({ startTime: StartTime, endTime: EndTime });
export type AnalyticsQuery = Static<typeof AnalyticsQuery>;

const percentile = (percent: number) =>
  Type.Number({
    description: `Response time in milliseconds that ${percent} % of the requests did not exceed, within 5 %.`,
  });

export const Analytics = dataOf(
  closed(
    {
      errorRate: Type.Number({ description: 'Share of requests answered with status 400 or above, from 0 to 1.' }),
      errorCount: Type.Integer({ description: 'Number of requests answered with status 400 or above.' }),
      totalRequests: Type.Integer({ description: 'Number of requests in the time range.' }),
      responseTime: closed(
        { p50: percentile(50), p95: percentile(95), p99: percentile(99) },
        { description: 'Percentiles of the response time.' },
      ),
      topErrors: Type.Array(
        closed({
          message: Type.String(),
          count: Type.Integer(),
          lastOccurrence: timestamp('Time of the latest occurrence (RFC 3339, UTC).'),
        }),
        { description: 'Most frequent errors, in whole hours of the time range.' },
      ),
      tenantActivity: Type.Array(
        closed({
          tenantId: Uuid,
          requestCount: Type.Integer({ description: 'Number of requests of the tenant.' }),
          errorCount: Type.Integer({ description: 'Number of them answered with status 400 or above.' }),
        }),
        { description: 'Most active tenants, in whole hours of the time range.' },
      ),
    },
    { title: 'LogAnalytics' },
  ),
);

const serviceName = '^[A-Za-z][A-Za-z0-9_.-]{0,63}$';
export const maxConfiguredLevels = 100;
const LogLevels = Type.Record(Type.String({ pattern: serviceName }), Level, {
  additionalProperties: false,
  maxProperties: maxConfiguredLevels,
  description: 'Minimum level by name of the service.',
});
const LevelsInForce = Type.Record(Type.String({ pattern: serviceName }), Level, {
  additionalProperties: false,
  description: 'Minimum level by name of the service: configured levels, and the effective level of all others.',
});
const Levels = Type.Array(Level, {
  maxItems: logLevels.length,
  description: 'Levels that are written; lines of other levels are left out.',
});

const consoleFields = {
  enabled: Type.Boolean({ description: 'Whether lines are written to the console.' }),
  format: Format,
  colorize: Type.Boolean({ description: 'Whether levels are colored.' }),
  timestamp: Type.Boolean({ description: 'Whether lines show their time.' }),
  levels: Levels,
};
const databaseFields = {
  enabled: Type.Boolean({ description: 'Whether lines are written to the database.' }),
  table: Type.String({ maxLength: 63, description: 'Name of the table; always `application_logs`.' }),
  batchSize: Type.Integer({ minimum: 1, maximum: 1000, description: 'Maximum number of lines in one batch.' }),
  flushInterval: Type.Integer({
    minimum: 1000,
    maximum: 60_000,
    description: 'Maximum time between two writes in milliseconds.',
  }),
  levels: Levels,
};
const formattingFields = {
  format: Type.Enum(consoleFormats, { description: 'Format of lines on the console; the same as `console.format`.' }),
  includeTimestamp: Type.Boolean({ description: 'Whether console lines contain their time.' }),
  includeService: Type.Boolean({ description: 'Whether console lines contain the name of the service.' }),
  includeContext: Type.Boolean({ description: 'Whether console lines contain the other fields.' }),
  redactSensitive: Type.Boolean({ description: 'Whether secrets are removed from all lines.' }),
};
const RetentionDays = Type.Enum([30, 60, 90], { description: 'Days after which lines are purged.' });
const cleanupFields = {
  enabled: Type.Boolean({ description: 'Whether old lines are purged.' }),
  retentionDays: RetentionDays,
  archiveEnabled: Type.Boolean({
    description: 'Whether each day is written to a compressed file before it is purged.',
  }),
  archiveLocation: Type.String({
    maxLength: 500,
    description: 'Relative path of archive files below `archives/` in the object store, such as `logs/production`.',
  }),
  cleanupSchedule: Type.String({
    minLength: 9,
    maxLength: 100,
    description: 'Time of the purge: cron expression of five fields (minute hour day month weekday), in UTC.',
  }),
};

const sectionTexts = {
  console: 'Log lines on the console.',
  database: 'Log lines in the database.',
  formatting: 'Content of log lines.',
  cleanup: 'Retention and archives of log lines.',
};
const Console = closed(consoleFields, { title: 'LogConsole', description: sectionTexts.console });
const DatabaseSection = closed(databaseFields, { title: 'LogDatabase', description: sectionTexts.database });
const Formatting = closed(formattingFields, { title: 'LogFormatting', description: sectionTexts.formatting });
const Cleanup = closed(cleanupFields, { title: 'LogCleanup', description: sectionTexts.cleanup });

export const LogConfigAnswer = dataOf(
  closed(
    { logLevels: LevelsInForce, console: Console, database: DatabaseSection, formatting: Formatting, cleanup: Cleanup },
    { title: 'LogConfig' },
  ),
);

export const LogConfigPatch = closed({
  logLevels: Type.Optional(LogLevels),
  console: Type.Optional(
    Type.Partial(closed(consoleFields), { additionalProperties: false, description: sectionTexts.console }),
  ),
  database: Type.Optional(
    Type.Partial(closed(databaseFields), { additionalProperties: false, description: sectionTexts.database }),
  ),
  formatting: Type.Optional(
    Type.Partial(closed(formattingFields), { additionalProperties: false, description: sectionTexts.formatting }),
  ),
  cleanup: Type.Optional(
    Type.Partial(closed(cleanupFields), { additionalProperties: false, description: sectionTexts.cleanup }),
  ),
});
export type LogConfigPatch = Static<typeof LogConfigPatch>;

export const SectionParams = closed({
  section: Type.String({
    maxLength: 40,
    description: 'Section of the configuration: `console`, `database`, `formatting`, `cleanup` or `log-levels`.',
  }),
});
export const SectionAnswer = dataOf(Type.Union([Console, DatabaseSection, Formatting, Cleanup, LevelsInForce]));
export const SectionPatch = freeObjectOfAtMost(16_384);

export const Applied = dataOf(
  closed({ message: Type.String(), applied: Type.Boolean({ description: 'Whether the change is in effect.' }) }),
);
export const Reset = dataOf(
  closed({ message: Type.String(), reset: Type.Boolean({ description: 'Whether the defaults are in effect.' }) }),
);

export const PreviewBody = closed({
  logLevels: Type.Optional(LogLevels),
  cleanup: Type.Optional(
    closed({ retentionDays: Type.Optional(RetentionDays) }, { description: sectionTexts.cleanup }),
  ),
});
export type PreviewBody = Static<typeof PreviewBody>;

export const Preview = dataOf(
  closed({
    affectedServices: Type.Array(Type.String(), { description: 'Services whose level would change, by name.' }),
    estimatedLogVolume: Type.Integer({ description: 'Estimated number of lines per day.' }),
    storageImpact: closed(
      {
        current: Type.Integer({ description: 'Size with the current configuration in bytes.' }),
        projected: Type.Integer({ description: 'Size with the change in bytes.' }),
        change: Type.Integer({ description: 'Difference in bytes; negative if the change saves space.' }),
      },
      { description: 'Estimated size of all lines in the retention time.' },
    ),
    warnings: Type.Array(Type.String(), { description: 'Consequences that the caller should know.' }),
  }),
);

export const sections = ['console', 'database', 'formatting', 'cleanup', 'log-levels'] as const;
export type Section = (typeof sections)[number];

export const ValidateBody = closed({
  section: Type.Optional(
    Type.Enum(sections, { description: 'Section of the configuration. Default: the whole configuration.' }),
  ),
  config: freeObjectOfAtMost(16_384, { description: 'Change to validate, at most 16,384 bytes as JSON.' }),
});
export type ValidateBody = Static<typeof ValidateBody>;

export const Validation = dataOf(
  closed({
    valid: Type.Boolean({ description: 'Whether the change could be made.' }),
    errors: Type.Array(Type.String(), { description: 'Reasons why the change is invalid; empty if it is valid.' }),
    warnings: Type.Array(Type.String(), { description: 'Consequences that the caller should know.' }),
  }),
);

export const ExportBody = closed({
  startTime: Type.Optional(Timestamp),
  endTime: Type.Optional(Timestamp),
  tenantId: Type.Optional(Uuid),
  level: Type.Optional(Type.Enum(logLevels, { description: 'Level of the exported lines. Default: all levels.' })),
  format: Type.Optional(Type.Enum(['json', 'csv'], { default: 'json', description: 'Format of the file.' })),
});
export type ExportBody = Static<typeof ExportBody>;

export const Exported = dataOf(
  closed({
    message: Type.String(),
    path: Type.String({ description: 'Path of the file in the API.' }),
    recordCount: Type.Integer({ description: 'Number of exported lines.' }),
    sizeBytes: Type.Integer(),
  }),
);
export const Exports = listOf(
  closed(
    {
      name: Type.String({ description: 'File name.' }),
      path: Type.String({ description: 'Path of the file in the API.' }),
      size: Type.Integer({ description: 'Size in bytes.' }),
      createdAt: Timestamp,
    },
    { title: 'LogExport' },
  ),
);
export const ExportParams = closed({ filename: Type.String({ maxLength: 200 }) });
export const Deleted = dataOf(
  closed({ message: Type.String(), deleted: Type.Boolean({ description: 'Whether the file was deleted.' }) }),
);

export const ArchivePage = pageOf(
  closed(
    {
      name: Type.String({ description: 'File name.' }),
      path: Type.String({ description: 'Path of the file in the API.' }),
      day: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$', description: 'Archived day (UTC), as `YYYY-MM-DD`.' }),
      size: Type.Integer({ description: 'Compressed size in bytes.' }),
      recordCount: Type.Integer({ description: 'Number of archived lines.' }),
      createdAt: Timestamp,
    },
    { title: 'LogArchive' },
  ),
);
