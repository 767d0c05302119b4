/** Names whose values are secrets, in lower case and without `-` and `_`. */
const secretNames = new Set([
  'password',
  'pass',
  'passphrase',
  'secret',
  'token',
  'accesstoken',
  'refreshtoken',
  'authorization',
  'cookie',
  'setcookie',
  'xapikey',
  'fullkey',
  'code',
  'backupcodes',
  'otp',
  'totp',
  'qrcodeuri',
  'qrcodedataurl',
  'authconfig',
  'customercredentials',
  'xdispatchersecret',
  'xcronsecret',
  'devicefingerprint',
  'deliverytarget',
  'privatekey',
  'clientsecret',
]);
/** `newPassword`, `selectionToken`, `x-webhook-secret`: named after what they hold. */
const secretEnding =
  /(?:passwords?|passwd|pwd|secrets?|secret(?:access)?key|token|authorization|privatekey|backupcode|passwordhash)$/;
/** Error codes of PostgreSQL and Node are not secrets. */
const errorCode = /^(?:[0-9A-Z]{5}|E[A-Z_]+|[A-Z]+(?:_[A-Z]+)+)$/;

const bounds = { depth: 8, values: 500, items: 100, textLength: 8192, totalLength: 32_768 };

const marks = {
  secret: '[redacted]',
  cycle: '[circular]',
  deep: '[too deep]',
  more: '[cut]',
  unreadable: '[unreadable]',
};

const patterns: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z0-9 ]{1,40}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)/g, marks.secret],
  [/eyJ[\w-]{5,}(?:\.[\w-]*)*/g, marks.secret],
  [/svc_sk_\w+/g, marks.secret],
  [/rt1_[\w-]+/g, marks.secret],
  [/otpauth:\/\/[^\s"'<>]+/gi, marks.secret],
  [/\b(bearer|basic)\s+[\w+/=.~-]{8,}/gi, `$1 ${marks.secret}`],
  // As URLs and forms have them, and as JSON has them.
  [/((?:token|secret|passw(?:or)?d|pwd|signature|api[-_]?key)=)[^\s&"'<>;,]+/gi, `$1${marks.secret}`],
  [/([?&](?:code|key|sig)=)[^\s&"'<>]+/gi, `$1${marks.secret}`],
  [/((?:token|secret|passw(?:or)?d|pwd|api[-_]?key)"\s{0,5}:\s{0,5}")(?:[^"\\]|\\.)+/gi, `$1${marks.secret}`],
  // Passwords of connection strings.
  [/(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,100}:)[^\s/@]{1,200}@/gi, `$1${marks.secret}@`],
  [/([\w.!#$%&'*+/=?^`{|}~-])[\w.!#$%&'*+/=?^`{|}~-]{0,63}@([a-z0-9](?:[a-z0-9-]{0,62}\.)+[a-z]{2,24})/gi, '$1***@$2'],
];
/** Most texts hold nothing of the kind, and one look says so. */
const suspicious =
  /@|eyJ|svc_sk_|rt1_|otpauth|-----BEGIN|bearer|basic|(?:token|secret|passw(?:or)?d|pwd|signature|key|code|sig)[="]/i;

function isSecretName(name: string): boolean {
  const folded = name.toLowerCase().replaceAll(/[-_]/g, '');
  return secretNames.has(folded) || secretEnding.test(folded);
}

/** A text without the secrets that have a form of their own, and with e-mail addresses masked. */
export function redactText(text: string): string {
  if (!suspicious.test(text)) return text;
  return patterns.reduce((rest, [pattern, replacement]) => rest.replaceAll(pattern, replacement), text);
}

/**
 * A copy of the fields of a line as plain data of bounded size: secrets blanked by name and by pattern at any depth, errors
 * spelled out with their causes. Never throws.
 */
export function toLoggable(fields: object, { redact }: { redact: boolean }): Record<string, unknown> {
  const walk = { redact, values: 0, length: 0, above: new Set<object>() };
  return copyEntries(walk, fields, 0);
}

type Walk = { redact: boolean; values: number; length: number; above: Set<object> };

function copyValue(walk: Walk, value: unknown, depth: number): unknown {
  walk.values += 1;
  if (walk.values > bounds.values) return marks.more;
  if (typeof value === 'string') return copyText(walk, value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
  if (typeof value !== 'object' || value === null) return value;
  if (walk.above.has(value)) return marks.cycle;
  if (depth >= bounds.depth) return marks.deep;
  walk.above.add(value);
  try {
    return copyObject(walk, value, depth);
  } catch {
    return marks.unreadable;
  } finally {
    walk.above.delete(value);
  }
}

function copyObject(walk: Walk, value: object, depth: number): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof URL) return copyText(walk, `${value.origin}${value.pathname}`);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Error) return copyError(walk, value, depth);
  if (value instanceof Map) return copyEntries(walk, Object.fromEntries(value as Map<string, unknown>), depth + 1);
  if (Array.isArray(value) || value instanceof Set) return copyItems(walk, [...(value as Iterable<unknown>)], depth);
  return copyEntries(walk, value, depth + 1);
}

function copyItems(walk: Walk, items: unknown[], depth: number): unknown[] {
  const copied = items.slice(0, bounds.items).map((item) => copyValue(walk, item, depth + 1));
  return items.length > bounds.items ? [...copied, marks.more] : copied;
}

function copyEntries(walk: Walk, value: object, depth: number): Record<string, unknown> {
  const names = Object.keys(value);
  const entries = names
    .slice(0, bounds.items)
    .map((name) => [redactName(walk, name), copyField(walk, value, name, depth)]);
  if (names.length > bounds.items) entries.push(['…', marks.more]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

// A map from addresses or tokens to something carries them in its names; what PostgreSQL takes in none goes as well.
function redactName(walk: Walk, name: string): string {
  const short = name.slice(0, 200).toWellFormed().replaceAll('\0', '');
  return walk.redact ? redactText(short) : short;
}

function copyField(walk: Walk, owner: object, name: string, depth: number): unknown {
  try {
    const value = (owner as Record<string, unknown>)[name];
    if (value === undefined || value === null) return value;
    return walk.redact && isSecretName(name) ? marks.secret : copyValue(walk, value, depth);
  } catch {
    return marks.unreadable;
  }
}

function copyError(walk: Walk, error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  const { code, ...own } = Object.fromEntries(Object.entries(error)) as Record<string, unknown>;
  const isKnownCode = typeof code === 'number' || (typeof code === 'string' && errorCode.test(code));
  // The causes of our errors carry texts of libraries, which may include answers of third parties.
  const isCause = [...walk.above].at(-2) instanceof Error;
  return {
    type: copyText(walk, name === 'Error' ? error.constructor.name : name),
    message: copyText(walk, messageWithCauses(message, cause)),
    ...(code === undefined ? {} : { code: isKnownCode || !walk.redact ? code : marks.secret }),
    ...copyEntries(walk, { ...(isCause ? {} : own), ...(cause === undefined ? {} : { cause }) }, depth + 1),
    ...(stack === undefined ? {} : { stack: copyText(walk, stack) }),
  };
}

function messageWithCauses(message: string, cause: unknown, left = 5): string {
  if (!(cause instanceof Error) || left === 0) return message;
  return `${message}: ${messageWithCauses(cause.message, cause.cause, left - 1)}`;
}

// The message of an error may have been replaced by a value of any type.
function copyText(walk: Walk, given: unknown): string {
  const text = String(given);
  const room = Math.max(0, Math.min(bounds.textLength, bounds.totalLength - walk.length));
  // Redacted before it is cut: half a token has no form that could be recognised.
  const known = text.slice(0, 4 * bounds.textLength);
  const clean = walk.redact ? redactText(known) : known;
  walk.length += Math.min(clean.length, room);
  return clean.length > room ? `${clean.slice(0, room)}${marks.more}` : clean;
}
