import { AppError } from '#core/base/errors/app-error';

export const jsonLimits = { depth: 32, properties: 2000, values: 50_000 } as const;

/** Shorter texts cost too little to be read before they are parsed. */
export const scannedFromBytes = 12_288;

/** The kind of token that a byte of JSON may begin; all others are 0. */
const kind = { quote: 1, backslash: 2, comma: 3, colon: 4, open: 5, close: 6, digit: 7, fraction: 8 } as const;

const kinds = new Uint8Array(256);
for (const [name, characters] of Object.entries({
  quote: '"',
  backslash: '\\',
  comma: ',',
  colon: ':',
  open: '[{',
  close: ']}',
  digit: '0123456789',
  fraction: '.eE+',
}))
  for (const character of characters) kinds[character.codePointAt(0)!] = kind[name as keyof typeof kind];

/** A shorter integer is exact as a double; a longer one than `maxDigits` hardly ever is. */
const minDigits = 16;
const maxDigits = 19;

/**
 * Reads a JSON text once, in linear time, so that what would take long to parse is refused before it is parsed. A text that is
 * not JSON may pass: the parser refuses it.
 * @param bytes in UTF-8
 * @throws AppError VALIDATION_ERROR for too many values or properties, for excessive nesting, and for an inexact integer
 */
export function assertParsable(bytes: Buffer): void {
  let depth = 0;
  let properties = 0;
  let values = 1;
  for (let at = 0; at < bytes.length && values <= jsonLimits.values; at++) {
    switch (kinds[bytes[at]!]!) {
      case kind.quote:
        at = endOfString(bytes, at);
        break;
      case kind.comma:
        values += 1;
        break;
      case kind.colon:
        if (++properties > jsonLimits.properties) throw tooMany(jsonLimits.properties, 'properties');
        break;
      case kind.open:
        if (++depth > jsonLimits.depth) throw tooDeep();
        values += firstValues(bytes, at);
        break;
      case kind.close:
        depth -= 1;
        break;
      case kind.digit:
        at = readNumber(bytes, at);
        break;
    }
  }
  if (values > jsonLimits.values) throw tooMany(jsonLimits.values, 'values');
}

/** The values that commas do not count in the list or object that begins there: an empty one has none. */
function firstValues(bytes: Buffer, start: number): 0 | 1 {
  return kinds[bytes[start + 1]!] === kind.close ? 0 : 1;
}

/** The index of the quote that ends the string, or behind the last byte. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (; at < bytes.length; at++) {
    const found = kinds[bytes[at]!]!;
    if (found === kind.quote) return at;
    if (found === kind.backslash) at += 1;
  }
  return at;
}

/** @returns the index of the last byte of the number. @throws AppError that names its field where it is an inexact integer */
function readNumber(bytes: Buffer, start: number): number {
  let end = start + 1;
  while (kinds[bytes[end]!] === kind.digit) end += 1;
  const digits = end - start;
  // A fraction is rounded, as it is everywhere.
  if (kinds[bytes[end]!] === kind.fraction) return endOfFraction(bytes, end);
  if (digits >= minDigits && (digits > maxDigits || !isExact(bytes, start, end)))
    throw about(bytes, start, 'is an integer beyond 2^53, which cannot be kept exactly: send it as text');
  return end - 1;
}

function endOfFraction(bytes: Buffer, start: number): number {
  for (let at = start + 1; ; at++) {
    const found = kinds[bytes[at]!];
    if (found !== kind.digit && found !== kind.fraction && bytes[at] !== minus) return at - 1;
  }
}

const minus = 0x2d;
const zero = 0x30;
const tailDigits = 9;
const tailSize = 10 ** tailDigits;

/** From each of these powers of two on, doubles are twice as far apart. */
const steps = Array.from({ length: 11 }, (_, at) => {
  const power = 2n ** BigInt(53 + at);
  return { head: Number(power / BigInt(tailSize)), tail: Number(power % BigInt(tailSize)) };
});

/** Whether an integer of up to 19 digits is a multiple of the distance between doubles of its size. */
function isExact(bytes: Buffer, start: number, end: number): boolean {
  const head = integerOf(bytes, start, end - tailDigits);
  const tail = integerOf(bytes, end - tailDigits, end);
  let distance = 1;
  for (const step of steps) {
    if (head < step.head || (head === step.head && tail < step.tail)) break;
    distance *= 2;
  }
  // A power of two up to 2^11 divides 10^11, so of the integer itself the last 11 digits are enough.
  return ((head % 100) * tailSize + tail) % distance === 0;
}

function integerOf(bytes: Buffer, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) value = value * 10 + bytes[at]! - zero;
  return value;
}

/** JSON has no largest number, JavaScript has: 1e400 would be Infinity, and null when it is written again. */
export function infiniteNumber(bytes: Buffer): AppError {
  let at = 0;
  for (; at < bytes.length; at++) {
    const found = kinds[bytes[at]!];
    if (found === kind.quote) at = endOfString(bytes, at);
    if (found !== kind.digit) continue;
    const end = endOfFraction(bytes, at);
    if (!Number.isFinite(Number(bytes.toString('latin1', at, end + 1)))) break;
    at = end;
  }
  return about(bytes, at, 'is a number that is too large: send it as text');
}

function about(bytes: Buffer, at: number, message: string): AppError {
  const path = `body${placeOf(bytes, at)}`;
  return new AppError('VALIDATION_ERROR', `${path}: ${message}.`, {
    details: { issues: [{ path, rule: 'exactNumber', message }] },
  });
}

/** Where in the body a byte is: names and indexes, each behind a dot. */
function placeOf(bytes: Buffer, target: number): string {
  const levels: { name: string; index: number | undefined }[] = [];
  let text = '';
  for (let at = 0; at < target; at++) {
    const level = levels.at(-1);
    switch (kinds[bytes[at]!]!) {
      case kind.quote: {
        const end = endOfString(bytes, at);
        text = bytes.toString('utf8', at, end + 1);
        at = end;
        break;
      }
      case kind.open:
        levels.push(bytes[at] === openList ? { name: '0', index: 0 } : { name: '', index: undefined });
        break;
      case kind.close:
        levels.pop();
        break;
      case kind.colon:
        if (level !== undefined) level.name = nameOf(text);
        break;
      case kind.comma:
        if (level?.index !== undefined) level.name = String((level.index += 1));
        break;
    }
  }
  return levels.map(({ name }) => `.${name}`).join('');
}

const openList = 0x5b;
const maxNameLength = 100;

function nameOf(json: string): string {
  try {
    return (JSON.parse(json) as string).slice(0, maxNameLength);
  } catch {
    return '';
  }
}

export function tooDeep(): AppError {
  return badJson(`The body is nested more than ${jsonLimits.depth} levels deep.`);
}

export function tooMany(limit: number, what: 'values' | 'properties'): AppError {
  return badJson(`The body has more than ${limit} ${what}: send it in several parts.`);
}

export function badJson(message: string, cause?: unknown): AppError {
  return new AppError('VALIDATION_ERROR', message, { cause });
}
