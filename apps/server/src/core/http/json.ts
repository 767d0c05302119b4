import { AppError } from '#core/errors/app-error';

const maxDepth = 32;
const maxKeys = 2000;

const utf8 = new TextDecoder('utf-8', { fatal: true });
const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Parses a request body. An empty body is no body: clients send the JSON content type on requests that have none.
 * @throws AppError VALIDATION_ERROR for anything that is not JSON as PostgreSQL and JavaScript both understand it; caused by
 * a SyntaxError where it is no JSON at all.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
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
  const { hasLargeNumber } = inspect(value, text);
  if (hasLargeNumber) JSON.parse(text, refuseInexact);
  return value;
}

/** An integer that a double cannot hold would be read back as another one. */
function refuseInexact(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source ?? '';
  const isInteger = typeof value === 'number' && /^-?\d+$/.test(source);
  if (isInteger && (!Number.isFinite(value) || BigInt(source) !== BigInt(value)))
    throw badJson('The body has an integer beyond 2^53, which cannot be kept exactly: send it as text.');
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

/**
 * @param text what it was parsed from: what cannot be in it is not searched for name by name.
 * @throws AppError for what nobody can keep
 */
function inspect(root: unknown, text: string): { hasLargeNumber: boolean } {
  // In UTF-8 without escapes there is neither NUL, which JSON demands to be escaped, nor half of a surrogate pair.
  const hasEscapes = text.includes(String.raw`\u`);
  const mayBeForbidden = hasEscapes || text.includes('proto') || text.includes('constructor');
  let keys = 0;
  let hasLargeNumber = false;
  const visit = (value: unknown, depth: number): void => {
    if (typeof value === 'number') {
      assertFinite(value);
      hasLargeNumber ||= Math.abs(value) > Number.MAX_SAFE_INTEGER;
    } else if (typeof value === 'string') {
      if (hasEscapes) assertText(value);
    } else if (typeof value === 'object' && value !== null) {
      if (depth >= maxDepth) throw badJson(`The body is nested more than ${maxDepth} levels deep.`);
      if (Array.isArray(value)) for (const item of value) visit(item, depth + 1);
      else visitProperties(value as Record<string, unknown>, depth);
    }
  };
  const visitProperties = (value: Record<string, unknown>, depth: number): void => {
    for (const key in value) {
      if (mayBeForbidden && forbiddenKeys.has(key)) throw badJson('The body has a property name that is not allowed.');
      if (++keys > maxKeys) throw badJson(`The body has more than ${maxKeys} properties.`);
      if (hasEscapes) assertText(key);
      visit(value[key], depth + 1);
    }
  };
  visit(root, 0);
  return { hasLargeNumber };
}

function assertText(text: string): void {
  if (!isStorableText(text)) throw badJson('The body has a NUL character or half of a surrogate pair in a string.');
}

/** JSON has no largest number, JavaScript has: 1e400 would be Infinity, and null when it is written again. */
function assertFinite(value: number): void {
  if (!Number.isFinite(value)) throw badJson('The body has a number that is too large.');
}

function badJson(message: string, cause?: unknown): AppError {
  return new AppError('VALIDATION_ERROR', message, { cause });
}
