import { AppError } from '#core/base/errors/app-error';
import {
  assertParsable,
  badJson,
  infiniteNumber,
  jsonLimits,
  scannedFromBytes,
  tooDeep,
  tooMany,
} from '#core/http/json-scan';

const utf8 = new TextDecoder('utf-8', { fatal: true });
/** Names that no property of a body may have, because JavaScript gives them a meaning. */
export const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Parses a request body. An empty body yields undefined: clients send the JSON content type on requests without a body.
 * @throws AppError VALIDATION_ERROR for anything that is not JSON as PostgreSQL and JavaScript both understand it; its cause is
 * a SyntaxError if the text is not JSON.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const isScanned = bytes.length >= scannedFromBytes;
  if (isScanned) assertParsable(bytes);
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw badJson('The body is not valid UTF-8.', new SyntaxError('not UTF-8', { cause }));
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw badJson('The body is not valid JSON.', cause);
  }
  const largest = inspect(value, text);
  if (largest === Infinity) throw infiniteNumber(bytes);
  if (largest > Number.MAX_SAFE_INTEGER && !isScanned) assertParsable(bytes);
  return value;
}

/** @throws AppError UNSUPPORTED_MEDIA_TYPE when the content type names another encoding than the one JSON has (RFC 8259 section 8.1). */
export function assertUtf8(contentType = ''): void {
  if (!contentType.includes(';')) return;
  const charsets = [...contentType.matchAll(/;\s*charset\s*=\s*"?([^\s";]*)/gi)].map((match) => match[1]!);
  if (charsets.every((charset) => /^utf-?8$/i.test(charset))) return;
  throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body in UTF-8.');
}

/** Text that PostgreSQL can store and every client can read back: no NUL, no half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Bytes of a value as PostgreSQL writes it out of jsonb: 1e300, which has few bytes in a body, has 301 digits there. */
export function jsonBytes(value: unknown): number {
  const text = JSON.stringify(value);
  const bytes = Buffer.byteLength(text);
  return /\de[+-]\d/.test(text) ? bytes + digitsOfExponents(value) : bytes;
}

function digitsOfExponents(value: unknown): number {
  if (typeof value === 'number') return Math.abs(Number(String(value).split('e')[1] ?? 0));
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, inner) => sum + digitsOfExponents(inner), 0);
}

/**
 * @param text the source text: names that it cannot contain are not searched for one by one
 * @returns the largest absolute number in the value
 * @throws AppError for values that cannot be stored
 */
function inspect(root: unknown, text: string): number {
  // In UTF-8 without escapes there is neither NUL, which JSON demands to be escaped, nor half of a surrogate pair.
  const hasEscapes = text.includes(String.raw`\u`);
  const mayBeForbidden = hasEscapes || text.includes('proto') || text.includes('constructor');
  let keys = 0;
  let largest = 0;
  const visit = (value: unknown, depth: number): void => {
    if (typeof value === 'number') largest = Math.max(largest, Math.abs(value));
    else if (typeof value === 'string') {
      if (hasEscapes) assertText(value);
    } else if (typeof value === 'object' && value !== null) {
      if (depth >= jsonLimits.depth) throw tooDeep();
      if (Array.isArray(value)) for (const item of value) visit(item, depth + 1);
      else visitProperties(value as Record<string, unknown>, depth);
    }
  };
  const visitProperties = (value: Record<string, unknown>, depth: number): void => {
    for (const key in value) {
      if (mayBeForbidden && forbiddenKeys.has(key)) throw badJson('The body has a property name that is not allowed.');
      if (++keys > jsonLimits.properties) throw tooMany(jsonLimits.properties, 'properties');
      if (hasEscapes) assertText(key);
      visit(value[key], depth + 1);
    }
  };
  visit(root, 0);
  return largest;
}

function assertText(text: string): void {
  if (!isStorableText(text)) throw badJson('The body has a NUL character or half of a surrogate pair in a string.');
}
