import { newId } from '#core/base/crypto/ids';
import { isoTime } from '#core/base/iso-time';
import type { WaitingLine } from '#core/data/log/line-batch';
import { levelNumbers, type LogLevel } from '#core/data/log/log-config';

/** Ids created by this service; null if missing. */
export type About = { requestId: string | null; tenantId: string | null; userId: string | null };

/** What was said, by which part of the service, at which time in milliseconds. Without `about`, ids are among the fields. */
export type LogLine = {
  level: LogLevel;
  service: string;
  at: number;
  message: string;
  fields: object;
  about?: About | undefined;
};

type Ids = { requestId?: unknown; tenantId?: unknown; userId?: unknown };

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * A line of which nothing has to be made text any more. `context` is JSON of its fields but for those that name a request, a
 * tenant and a person: these have places of their own, undefined if missing or not an id.
 */
export type WrittenLine = Omit<LogLine, 'fields' | 'about'> & {
  requestId: string | null | undefined;
  tenantId: string | null | undefined;
  userId: string | null | undefined;
  context: string;
};

/** Makes text of the fields, once for the console and the database. */
export function writeLine({ level, service, at, message, fields, about }: LogLine): WrittenLine {
  if (about !== undefined) {
    const { requestId, tenantId, userId } = about;
    return { level, service, at, message, requestId, tenantId, userId, context: toJson(fields) };
  }
  const ids = fields as Ids;
  const requestId = idOf(ids.requestId);
  const tenantId = idOf(ids.tenantId);
  const userId = idOf(ids.userId);
  const others = {
    ...fields,
    // JSON leaves out what is undefined, which is faster than to copy all names but some.
    requestId: requestId === undefined ? ids.requestId : undefined,
    tenantId: tenantId === undefined ? ids.tenantId : undefined,
    userId: userId === undefined ? ids.userId : undefined,
  };
  return { level, service, at, message, requestId, tenantId, userId, context: toJson(others) };
}

function idOf(value: unknown): string | null | undefined {
  return value === null || (typeof value === 'string' && uuid.test(value)) ? value : undefined;
}

/** As one line of JSON, with its line break. */
export function toConsoleLine(line: WrittenLine): string {
  const { level, service, at, message, requestId, tenantId, userId, context } = line;
  const ids = `${idField('requestId', requestId)}${idField('tenantId', tenantId)}${idField('userId', userId)}`;
  const others = context === '{}' ? '' : `,${context.slice(1, -1)}`;
  return `{"level":"${level}","time":"${isoTime(at)}","service":${toJson(service)}${ids}${others},"msg":${toJson(message)}}\n`;
}

function idField(name: keyof Ids, id: string | null | undefined): string {
  if (id === undefined) return '';
  return id === null ? `,"${name}":null` : `,"${name}":"${id}"`;
}

const lineBreakOrControl = /[\u007f-\u009f\u2028\u2029]/;
const lineBreaksAndControls = new RegExp(lineBreakOrControl, 'g');

/** JSON leaves some that other readers take for the end of a line, and terminals for a command. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value);
  return lineBreakOrControl.test(text) ? text.replaceAll(lineBreaksAndControls, escapeCharacter) : text;
}

export function escapeCharacter(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** About how many characters the ids and the time of a line have. */
const headSize = 200;

/** As what is kept of it. */
export function toWaitingLine(line: WrittenLine): WaitingLine {
  const { level, service, at, message, requestId, tenantId, userId, context } = line;
  return {
    at,
    id: newId(at),
    level: levelNumbers[level],
    service,
    message,
    tenantId: tenantId ?? null,
    userId: userId ?? null,
    requestId: requestId ?? null,
    context,
    size: headSize + message.length + context.length,
  };
}
