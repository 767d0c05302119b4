import { newId } from '#core/base/crypto/ids';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    updateLogConfig: () => ({
      logLevels: { sample: 'warn' },
      console: {
        enabled: true,
        format: 'json',
        colorize: false,
        timestamp: true,
        levels: ['trace', 'debug', 'info', 'warn', 'error', 'fatal'],
      },
      database: {
        enabled: true,
        table: 'application_logs',
        batchSize: 500,
        flushInterval: 1000,
        levels: ['trace', 'debug', 'info', 'warn', 'error', 'fatal'],
      },
      formatting: {
        format: 'json',
        includeTimestamp: true,
        includeService: true,
        includeContext: true,
        redactSensitive: true,
      },
      cleanup: {
        enabled: true,
        retentionDays: 60,
        archiveEnabled: true,
        archiveLocation: 'logs/sample',
        cleanupSchedule: '30 2 1,15 * MON-FRI',
      },
    }),
    updateLogConfigSection: () => ({}),
    previewLogConfig: () => ({ logLevels: { http: 'warn' }, cleanup: { retentionDays: 30 } }),
    validateLogConfig: () => ({ section: 'console', config: { enabled: true } }),
    exportLogs: () => ({
      startTime: '2026-01-01T00:00:00Z',
      endTime: '2026-01-02T00:00:00Z',
      tenantId: newId(),
      level: 'error',
      format: 'csv',
    }),
  },
  ids: {
    'listLogs query.tenantId': 'tenant',
    'listLogs query.userId': 'user',
    'exportLogs body.tenantId': 'tenant',
    'searchLogArchive query.tenantId': 'tenant',
    'searchLogArchive query.userId': 'user',
  },
  records: () =>
    Promise.resolve({
      'getLogConfigSection params.section': 'console',
      'updateLogConfigSection params.section': 'console',
    }),
};
