import pg from 'pg';

const oid = { int8: 20, timestamptz: 1184, date: 1082 } as const;

/**
 * PostgreSQL's ISO output in UTC (`2026-01-02 03:04:05.6+00`) to RFC 3339 with milliseconds.
 * Slicing the text instead of going through `Date` keeps a third of the list throughput.
 */
export function toRfc3339(text: string): string {
  const zone = text.length - 3;
  if (text.charCodeAt(10) !== 32 || text.slice(zone) !== '+00' || zone < 19) return new Date(text).toISOString();
  const fraction = zone === 19 ? '000' : text.slice(20, Math.min(zone, 23)).padEnd(3, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}

const custom = new Map<number, (text: string) => unknown>([
  [oid.timestamptz, toRfc3339],
  [oid.int8, Number],
  [oid.date, (text) => text],
]);

/** How a column of this type arrives in a row: times as RFC 3339 text, bigint as number, JSON parsed. */
export function textParser(typeOid: number): (text: string) => unknown {
  return custom.get(typeOid) ?? (pg.types.getTypeParser(typeOid, 'text') as (text: string) => unknown);
}

/** Values as PostgreSQL's text input: objects become JSON, arrays become array literals. */
export function toWireValue(value: unknown): string | Buffer | null {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value;
  return Array.isArray(value) ? `{${value.map(toArrayItem).join(',')}}` : toText(value);
}

function toArrayItem(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  return `"${toText(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  // Numbers and booleans read the same in JSON and in SQL.
  return JSON.stringify(value);
}
