export { blockSpanMs, type LogRow, type LogTables } from '#core/log/log-store.queries';
export type { RequestCountTables } from '#core/log/request-counts.queries';
