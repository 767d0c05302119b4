import { isAddressRange } from '#core/base/net/ranges';
import { forbiddenKeys } from '#core/http/json';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const dateTime = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?([Zz]|[+-](\d{2}):(\d{2}))$/;
// One @, a dotted domain, no spaces or control characters: what mail servers really take, not all of RFC 5322.
const strayDot = /^\.|\.\.|\.@/;
const email = /^[^\s@<>()[\]\\,;:"]{1,64}@[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9](?:[a-z0-9-]{0,62}))+$/i;

/** RFC 3339 without leap seconds, years 1 to 9999, that really exists (no 30 February). */
function isDateTime(text: string): boolean {
  const match = dateTime.exec(text);
  if (match === null) return false;
  const [, year, month, day, hour, minute, second, , , offsetHours, offsetMinutes] = match.map(Number);
  const ranges = [
    [year, 1, 9999],
    [month, 1, 12],
    [day, 1, daysIn(year!, month!)],
    [hour, 0, 23],
    [minute, 0, 59],
    [second, 0, 59],
    [offsetHours || 0, 0, 23],
    [offsetMinutes || 0, 0, 59],
  ] as [number, number, number][];
  if (!ranges.every(([value, min, max]) => value >= min && value <= max)) return false;
  const instant = new Date(text.toUpperCase());
  return !Number.isNaN(instant.getTime()) && instant.getUTCFullYear() >= 1 && instant.getUTCFullYear() <= 9999;
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

export function isEmail(text: string): boolean {
  return text.length <= 254 && !/\p{Cc}/u.test(text) && email.test(text) && !strayDot.test(text);
}

const minPasswordLength = 8;
const minMachinePasswordLength = 12;

/** Counted in the form that is hashed (NFKC): signs that melt into one there are one to guess. */
function hasLength(text: string, min: number): boolean {
  return Array.from(text.normalize('NFKC')).length >= min;
}

/** Text for one line of a mail or a list: no control character begins another. */
function isLine(text: string): boolean {
  return !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
}

/** A file name that is safe on every system: one line, no path. */
function isFileName(text: string): boolean {
  return isLine(text) && /\S/.test(text) && !/[/\\]/.test(text) && !/^\s*\.{1,2}\s*$/.test(text);
}

// The parser shows no credentials where both parts of them are empty, but a user still reads an address with an @.
const hasUserInfo = /^[a-z]+:[/\\]*[^/\\?#]*@/i;

/** An absolute http or https address without credentials in it. */
function isWebUri(text: string): boolean {
  if (/[\s\p{Cc}]/u.test(text) || hasUserInfo.test(text) || !URL.canParse(text)) return false;
  const { protocol } = new URL(text);
  return protocol === 'https:' || protocol === 'http:';
}

// A link of these runs code, shows content as if it were of the page's own origin, or reads local files.
const unsafeSchemes = new Set(['javascript', 'data', 'vbscript', 'blob', 'file']);
// Whitespace and control characters are refused wherever they are: browsers drop some of them before they read the scheme.
const absoluteUri = /^([a-z][a-z\d+.-]*):[^\s\p{Cc}<>"]+$/iu;

/** An absolute URI (RFC 3986 section 4.3, fragment allowed) of any scheme that is safe to link to. */
function isUri(text: string): boolean {
  const scheme = absoluteUri.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined || unsafeSchemes.has(scheme)) return false;
  return scheme === 'http' || scheme === 'https' ? isWebUri(text) : URL.canParse(text);
}

const anyOrigin = 'https://application.invalid';

/** Where an application leads its own people: a path of its own, or https to another host. */
function isAppRoute(text: string): boolean {
  if (/[\s\p{Cc}\\]/u.test(text)) return false;
  if (/^https:\/\/[^/]/i.test(text)) return isWebUri(text);
  if (/^[a-z][a-z\d+.-]*:/i.test(text) || !URL.canParse(text, anyOrigin)) return false;
  const { origin, pathname } = new URL(text, anyOrigin);
  // A path that begins with two slashes is the address of a host where it is used as a link once more.
  return origin === anyOrigin && !pathname.startsWith('//');
}

/** The same, or where a mail server is. */
function isProviderUri(text: string): boolean {
  return isWebUri(text.replace(/^smtp(s?):\/\//i, 'http$1://'));
}

/** Where browsers and secrets may be sent: https, or http to localhost, without a fragment (RFC 6749 section 3.1.2). */
function isSecureUri(text: string): boolean {
  if (!isWebUri(text) || !/^https?:\/\/[^/]/i.test(text) || /[#\\]/.test(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

function isTimeZone(text: string): boolean {
  // Offsets such as "+02:00" are not time zones: they say nothing about daylight saving.
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    // Knows the zones of the database and no more, where Intl also takes abbreviations that may mean anything.
    return new Temporal.ZonedDateTime(0n, text).timeZoneId !== '';
  } catch {
    return false;
  }
}

const localDateTime = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/;

/** What clocks show, to the minute or the second, on a day that really exists. */
function isLocalDateTime(text: string): boolean {
  if (!localDateTime.test(text)) return false;
  const [year, month, day] = text.slice(0, 10).split('-').map(Number) as [number, number, number];
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

/** The string formats that schemas may name. */
export const formats: Record<string, (text: string) => boolean> = {
  uuid: (text) => uuid.test(text),
  'date-time': isDateTime,
  'local-date-time': isLocalDateTime,
  email: isEmail,
  uri: isUri,
  'web-uri': isWebUri,
  'provider-uri': isProviderUri,
  'secure-uri': isSecureUri,
  'app-route': isAppRoute,
  'time-zone': isTimeZone,
  password: (text) => hasLength(text, minPasswordLength),
  'machine-password': (text) => hasLength(text, minMachinePasswordLength),
  line: isLine,
  'file-name': isFileName,
  'property-name': (text) => !forbiddenKeys.has(text),
  'ip-range': isAddressRange,
};

/** Scheme, host and port exactly as a browser sends them in Origin. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
