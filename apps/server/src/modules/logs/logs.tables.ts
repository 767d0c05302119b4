export type { LogRow, LogTables } from '#core/data/log/log-store.queries';
export type { RequestCountTables } from '#core/data/log/request-counts.queries';
