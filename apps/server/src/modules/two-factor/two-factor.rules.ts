/** What is stored of a phone number; undefined when the text can be none. */
export function normalisePhone(text: string): string | undefined {
  const number = text.replaceAll(/[ -]/g, '');
  return /^\+\d{6,15}$/.test(number) ? number : undefined;
}

/** Enough of an address or number to recognise it by: `a***@e***.com`, `+43*****89`. */
export function maskTarget(target: string): string {
  const at = target.lastIndexOf('@');
  if (at < 0) return `${target.slice(0, 3)}*****${target.slice(-2)}`;
  const domain = target.slice(at + 1);
  return `${firstLetter(target)}***@${firstLetter(domain)}***${domain.slice(domain.lastIndexOf('.'))}`;
}

function firstLetter(text: string): string {
  return String.fromCodePoint(text.codePointAt(0)!);
}

/** People type codes as they see them, in groups. */
export function withoutGaps(code: string): string {
  return code.replaceAll(/[ -]/g, '');
}

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const bitsPerLetter = 5;
const backupCodeLength = 8;

/** Eight letters for five random bytes, without those that are read for others (Crockford's base 32). */
export function writeBackupCode(bytes: Uint8Array): string {
  const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return Array.from({ length: backupCodeLength }, (_, at) => {
    const shift = BigInt(bitsPerLetter * (backupCodeLength - 1 - at));
    return crockford[Number((value >> shift) & 31n)]!;
  }).join('');
}

/** The code as it was handed out, however it was typed; undefined when the text can be none. */
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

/** How many wrong codes, and how many requested ones, an account has within a window. */
export const guessRules = {
  challenge: { max: 5, windowMs: codeLifeSeconds * 1000 },
  account: { max: 30, windowMs: day },
} as const;
export const sendRules = [
  { name: 'soon', max: 3, windowMs: 10 * minute },
  { name: 'day', max: 10, windowMs: day },
] as const;
