import { createHash, createHmac, hash, hkdfSync, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

import { toBase62 } from '#core/base/crypto/base62';

/** A fresh installation key. */
export function newKey(): Buffer {
  return randomBytes(32);
}

/** 256 random bits, URL-safe. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** The same as 43 letters and digits, which a double click selects whole. */
export function newAlphanumericSecret(): string {
  return toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43);
}

/** Random bytes, for secrets that have a form of their own. */
export function newBytes(count: number): Buffer {
  return randomBytes(count);
}

/** Decimal digits for a person to copy, leading zeros included, each text as likely as any other. */
export function newDigits(count: number): string {
  return String(randomInt(10 ** count)).padStart(count, '0');
}

export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex');
}

/** The digest of what comes piece by piece. */
export function newSha256(): { update(bytes: Uint8Array): void; hex(): string } {
  const digest = createHash('sha256');
  return { update: (bytes) => void digest.update(bytes), hex: () => digest.digest('hex') };
}

/** Keyed hash of a short secret or of something that must not be guessed back, such as an address in a counter's key. */
export function keyedHash(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** The signature of a message that leaves the service, as Standard Webhooks carries it: HMAC-SHA-256 in base64. */
export function signMessage(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64');
}

/** A key for one purpose from the installation key (HKDF, RFC 5869). */
export function deriveKey(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), purpose, 32));
}

/** Compares in constant time, also if the lengths differ. */
export function sameSecret(left: string, right: string): boolean {
  return timingSafeEqual(sha256(left), sha256(right));
}
