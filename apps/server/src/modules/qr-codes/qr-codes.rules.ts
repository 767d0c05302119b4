import { newBytes } from '#core/base/crypto/secrets';

/** Creates the printed code: 128 random bits as base64url. */
export function newCode(): string {
  return newBytes(16).toString('base64url');
}
