/** The stored form of a phone number; undefined if the text is not a phone number. */
export function normalisePhone(text: string): string | undefined {
  const number = text.replaceAll(/[ -]/g, '');
  return /^\+\d{6,15}$/.test(number) ? number : undefined;
}

/** A masked address or number that its owner recognises: `a***@e***.com`, `+43*****89`. */
export function maskTarget(target: string): string {
  const at = target.lastIndexOf('@');
  if (at < 0) return `${target.slice(0, 3)}*****${target.slice(-2)}`;
  const domain = target.slice(at + 1);
  return `${firstLetter(target)}***@${firstLetter(domain)}***${domain.slice(domain.lastIndexOf('.'))}`;
}

function firstLetter(text: string): string {
  return String.fromCodePoint(text.codePointAt(0)!);
}

/** Users type codes in groups, and some keyboards write full-width digits. */
export function withoutGaps(code: string): string {
  return code.replaceAll(/[\uff01-\uff5e\u3000]/g, toAscii).replaceAll(/[ -]/g, '');
}

// Only these: keyboards do not write other compatible characters of Unicode.
function toAscii(sign: string): string {
  return sign === '\u3000' ? ' ' : String.fromCodePoint(sign.codePointAt(0)! - 0xfee0);
}

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const bitsPerLetter = 5;
const backupCodeLength = 8;

/** Eight characters for five random bytes, without characters that look alike (Crockford's base 32). */
export function writeBackupCode(bytes: Uint8Array): string {
  const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return Array.from({ length: backupCodeLength }, (_, at) => {
    const shift = BigInt(bitsPerLetter * (backupCodeLength - 1 - at));
    return crockford[Number((value >> shift) & 31n)]!;
  }).join('');
}

/** The original form of a typed backup code; undefined if the text cannot be one. */
export function readBackupCode(text: string): string | undefined {
  const typed = withoutGaps(text);
  if (!/^[0-9a-tv-z]{8}$/i.test(typed)) return undefined;
  return typed.toUpperCase().replaceAll(/[IL]/g, '1').replaceAll('O', '0');
}

const minute = 60_000;
const day = 24 * 60 * minute;

export const codeLifeSeconds = 300;
export const enrolmentMs = 10 * minute;
export const backupCodeCount = 10;

/** Maximum number of wrong codes and of requested codes per account and window. */
export const guessRules = {
  challenge: { max: 5, windowMs: codeLifeSeconds * 1000 },
  account: { max: 30, windowMs: day },
} as const;
export const sendRules = [
  { name: 'soon', max: 3, windowMs: 10 * minute },
  { name: 'day', max: 10, windowMs: day },
] as const;
