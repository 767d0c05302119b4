import { newId } from '#core/crypto/ids';
import { levelNumbers, type LogLevel } from '#core/log/log-config';
import type { LogRow } from '#core/log/log-store.queries';

/** What was said, by which part of the service, at which time in milliseconds. */
export type LogLine = { level: LogLevel; service: string; at: number; message: string; fields: object };

type Ids = { requestId?: unknown; tenantId?: unknown; userId?: unknown };

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** As one line of JSON, with its line break. */
export function toConsoleLine({ level, service, at, message, fields }: LogLine): string {
  return jsonLine({ level, time: isoTime(at), service, ...fields, msg: message });
}

const lineBreaksAndControls = /[\u007f-\u009f\u2028\u2029]/g;

/** JSON leaves some that other readers take for the end of a line, and terminals for a command. */
export function jsonLine(value: object): string {
  return `${JSON.stringify(value).replaceAll(lineBreaksAndControls, escapeCharacter)}\n`;
}

export function escapeCharacter(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** As the row that is kept of it. Which request, tenant and person it concerns are columns of their own. */
export function toRow({ level, service, at, message, fields }: LogLine): LogRow {
  const { requestId = null, tenantId = null, userId = null, ...rest } = fields as Ids;
  const [request, tenant, person] = [idOf(requestId), idOf(tenantId), idOf(userId)];
  const areIds = request === requestId && tenant === tenantId && person === userId;
  return {
    logged_at: isoTime(at),
    id: newId(at),
    level: levelNumbers[level],
    service,
    message,
    concerned_tenant_id: tenant,
    user_id: person,
    request_id: request,
    context: areIds ? rest : { ...rest, ...othersOf({ requestId, tenantId, userId }) },
  };
}

function idOf(value: unknown): string | null {
  return typeof value === 'string' && uuid.test(value) ? value : null;
}

function othersOf(given: Ids): Ids {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== idOf(value)));
}

let latest = { at: Number.NaN, text: '' };

// Under load many lines share a millisecond.
function isoTime(at: number): string {
  if (at !== latest.at) latest = { at, text: new Date(at).toISOString() };
  return latest.text;
}
