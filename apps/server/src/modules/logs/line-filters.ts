import type { LogRecord } from '#modules/logs/logs.schemas';

export type LineFilters = {
  level?: string | undefined;
  service?: string | undefined;
  tenantId?: string | undefined;
  userId?: string | undefined;
  requestId?: string | undefined;
  startTime?: string | undefined;
  endTime?: string | undefined;
  search?: string | undefined;
};

/** Whether a search of the log with the same filters would find the line. */
export function matchesLine(line: LogRecord, filters: LineFilters): boolean {
  const { level, service, tenantId, userId, requestId, startTime, endTime, search } = filters;
  const at = Date.parse(line.timestamp);
  return (
    (level === undefined || level.split(',').includes(line.level)) &&
    hasAll(line, { service, tenantId, userId, requestId }) &&
    (startTime === undefined || at >= Date.parse(startTime)) &&
    (endTime === undefined || at < Date.parse(endTime)) &&
    hasWords(line.message.toLowerCase(), search)
  );
}

function hasAll(
  line: LogRecord,
  expected: Pick<LineFilters, 'service' | 'tenantId' | 'userId' | 'requestId'>,
): boolean {
  return (Object.keys(expected) as (keyof typeof expected)[]).every(
    (name) => expected[name] === undefined || line[name] === expected[name],
  );
}

function hasWords(message: string, search = ''): boolean {
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => message.includes(word));
}
