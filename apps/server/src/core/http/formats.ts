import { isIP } from 'node:net';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const dateTime = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?([Zz]|[+-](\d{2}):(\d{2}))$/;
// One @, a dotted domain, no spaces or control characters: what mail servers really take, not all of RFC 5322.
const email = /^[^\s@<>()[\]\\,;:"]{1,64}@[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9](?:[a-z0-9-]{0,62}))+$/i;

/** RFC 3339 without leap seconds, years 1 to 9999, that really exists (no 30 February). */
export function isDateTime(text: string): boolean {
  const match = dateTime.exec(text);
  if (match === null) return false;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (Number(match[9] ?? 0) > 23 || Number(match[10] ?? 0) > 59) return false;
  if (year < 1 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return false;
  const daysInMonth = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  if (day < 1 || day > daysInMonth) return false;
  const instant = new Date(text.toUpperCase());
  return !Number.isNaN(instant.getTime()) && instant.getUTCFullYear() >= 1 && instant.getUTCFullYear() <= 9999;
}

export function isEmail(text: string): boolean {
  return text.length <= 254 && !/\p{Cc}/u.test(text) && email.test(text);
}

/** An absolute http or https address without credentials in it. */
export function isWebUri(text: string): boolean {
  if (/[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
}

export function isTimeZone(text: string): boolean {
  // Offsets such as "+02:00" are no zones: they say nothing about daylight saving.
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
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
