export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof logLevels)[number];

/** As pino numbers them, and the database keeps them. */
export const levelNumbers: Readonly<Record<LogLevel, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
};

export const consoleFormats = ['json', 'pretty', 'compact'] as const;
export type ConsoleFormat = (typeof consoleFormats)[number];

/** Levels and targets of the log (specification, "Log configuration"). */
export type LogConfig = {
  /** By the name of the part; what is not named has the level of LOG_LEVEL. */
  logLevels: Readonly<Record<string, LogLevel>>;
  console: {
    enabled: boolean;
    format: ConsoleFormat;
    colorize: boolean;
    timestamp: boolean;
    levels: readonly LogLevel[];
  };
  /** `flushInterval` in milliseconds. */
  database: {
    enabled: boolean;
    table: string;
    batchSize: number;
    flushInterval: number;
    levels: readonly LogLevel[];
  };
  /** How lines look on the console, and whether secrets are blanked everywhere. */
  formatting: {
    format: ConsoleFormat;
    includeTimestamp: boolean;
    includeService: boolean;
    includeContext: boolean;
    redactSensitive: boolean;
  };
  cleanup: {
    enabled: boolean;
    retentionDays: 30 | 60 | 90;
    archiveEnabled: boolean;
    archiveLocation: string;
    /** A cron expression of five fields, in UTC. */
    cleanupSchedule: string;
  };
};

export const defaultLogConfig: LogConfig = {
  logLevels: {},
  console: { enabled: true, format: 'json', colorize: false, timestamp: true, levels: logLevels },
  database: { enabled: true, table: 'application_logs', batchSize: 1000, flushInterval: 1000, levels: logLevels },
  formatting: {
    format: 'json',
    includeTimestamp: true,
    includeService: true,
    includeContext: true,
    redactSensitive: true,
  },
  cleanup: {
    enabled: true,
    retentionDays: 30,
    archiveEnabled: false,
    archiveLocation: '',
    cleanupSchedule: '0 3 * * *',
  },
};

/** The setting that `core/data/settings` keeps over all processes. */
export const logConfiguration = {
  name: 'log_configuration',
  complete(value: Readonly<Record<string, unknown>>): LogConfig {
    const stored = value as Partial<{ [Section in keyof LogConfig]: Partial<LogConfig[Section]> }>;
    return {
      logLevels: { ...(stored.logLevels as LogConfig['logLevels'] | undefined) },
      console: { ...defaultLogConfig.console, ...stored.console },
      database: { ...defaultLogConfig.database, ...stored.database },
      formatting: { ...defaultLogConfig.formatting, ...stored.formatting },
      cleanup: { ...defaultLogConfig.cleanup, ...stored.cleanup },
    };
  },
};
