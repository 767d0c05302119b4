import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A number as that many base62 digits, the highest first; it has to fit. */
export function toBase62(value: bigint, digits: number): string {
  let text = '';
  for (let rest = value; text.length < digits; rest /= 62n) text = alphabet[Number(rest % 62n)]! + text;
  return text;
}

/** CRC-32 (ISO 3309) as six base62 digits: detects a mistyped text, and is not a protection against attackers. */
export function checksumBase62(text: string): string {
  return toBase62(BigInt(crc32(text)), 6);
}
