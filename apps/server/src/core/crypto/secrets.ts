import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** A fresh installation key. */
export function newKey(): Buffer {
  return randomBytes(32);
}

/** 256 random bits, URL-safe. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export function sha256Hex(text: string): string {
  return sha256(text).toString('hex');
}

/** Keyed hash of a short secret or of something that must not be guessed back, such as an address in a counter's key. */
export function keyedHash(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** A key for one purpose from the installation key (HKDF, RFC 5869). */
export function deriveKey(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), purpose, 32));
}

/** Compares in constant time, whatever the lengths. */
export function sameSecret(left: string, right: string): boolean {
  return timingSafeEqual(sha256(left), sha256(right));
}
