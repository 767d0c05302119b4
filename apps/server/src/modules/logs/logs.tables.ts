export type { LogRow, LogTables } from '#core/log/log-store.queries';
export type { RequestCountTables } from '#core/log/request-counts.queries';
