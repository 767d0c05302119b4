import { AppError } from '#core/errors/app-error';

const maxDepth = 32;
const maxKeys = 2000;

const utf8 = new TextDecoder('utf-8', { fatal: true });
const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Parses a request body. An empty body is no body: clients send the JSON content type on requests that have none.
 * @throws AppError BAD_REQUEST for anything that is not JSON as PostgreSQL and JavaScript both understand it.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw badJson('The body is not valid UTF-8.');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badJson('The body is not valid JSON.');
  }
  assertStorable(value);
  return value;
}

/** Text that PostgreSQL can store and every client can read back: no NUL, no half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

function assertStorable(root: unknown): void {
  let keys = 0;
  const visit = (value: unknown, depth: number): void => {
    if (value === null || typeof value !== 'object') {
      assertStorableScalar(value);
      return;
    }
    if (depth >= maxDepth) throw badJson(`The body is nested more than ${maxDepth} levels deep.`);
    if (Array.isArray(value)) {
      for (const item of value) visit(item, depth + 1);
      return;
    }
    for (const [key, item] of Object.entries(value)) {
      if (forbiddenKeys.has(key)) throw badJson('The body has a property name that is not allowed.');
      if (++keys > maxKeys) throw badJson(`The body has more than ${maxKeys} properties.`);
      assertStorableScalar(key);
      visit(item, depth + 1);
    }
  };
  visit(root, 0);
}

function assertStorableScalar(value: unknown): void {
  if (typeof value === 'string' && !isStorableText(value))
    throw badJson('The body has a NUL character or half of a surrogate pair in a string.');
  // JSON has no largest number, JavaScript has: 1e400 would be Infinity, and null when it is written again.
  if (typeof value === 'number' && !Number.isFinite(value)) throw badJson('The body has a number that is too large.');
}

function badJson(message: string): AppError {
  return new AppError('VALIDATION_ERROR', message);
}
