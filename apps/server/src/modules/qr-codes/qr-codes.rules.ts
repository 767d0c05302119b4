import { newBytes } from '#core/crypto/secrets';

/** 128 random bits, URL-safe: what is printed. */
export function newCode(): string {
  return newBytes(16).toString('base64url');
}
