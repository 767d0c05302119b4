import { isIP } from 'node:net';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const dateTime = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?([Zz]|[+-](\d{2}):(\d{2}))$/;
// One @, a dotted domain, no spaces or control characters: what mail servers really take, not all of RFC 5322.
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
  if (!ranges.every(([value, least, most]) => value >= least && value <= most)) return false;
  const instant = new Date(text.toUpperCase());
  return !Number.isNaN(instant.getTime()) && instant.getUTCFullYear() >= 1 && instant.getUTCFullYear() <= 9999;
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

export function isEmail(text: string): boolean {
  return text.length <= 254 && !/\p{Cc}/u.test(text) && email.test(text);
}

/** An absolute http or https address without credentials in it. */
function isWebUri(text: string): boolean {
  if (/[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
}

function isTimeZone(text: string): boolean {
  // Offsets such as "+02:00" are no zones: they say nothing about daylight saving.
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/** The string formats that schemas may name. */
export const formats: Record<string, (text: string) => boolean> = {
  uuid: (text) => uuid.test(text),
  'date-time': isDateTime,
  email: isEmail,
  uri: isWebUri,
  'time-zone': isTimeZone,
};

/** An address or a range, IPv4 or IPv6. */
export function isCidr(text: string): boolean {
  const [address, bits, ...rest] = text.split('/');
  const version = isIP(address!);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

/** Scheme, host and port exactly as a browser sends them in Origin. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
