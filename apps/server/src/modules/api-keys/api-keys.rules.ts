import { checksumBase62 } from '#core/base/crypto/base62';

/** Parts of a presented key. */
export type PresentedKey = { keyUuid: string; secret: string };

/** Purpose of the encryption key that hashes secrets. */
export const keyHashPurpose = 'api-key';

const prefix = 'svc_sk_';
const checksumDigits = 6;
const keyForm = /^svc_sk_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})_([0-9A-Za-z]{43}[0-9A-Za-z]{6})$/;

/** The full key and its secret, which ends with a checksum, so that a mistyped key is recognised without a query. */
export function composeKey(keyUuid: string, random: string): { fullKey: string; secret: string } {
  const body = `${prefix}${keyUuid}_${random}`;
  const fullKey = body + checksumBase62(body);
  return { fullKey, secret: fullKey.slice(prefix.length + keyUuid.length + 1) };
}

/** Undefined for text that cannot be a key: another form, or a wrong checksum. */
export function parseKey(text: string): PresentedKey | undefined {
  const [, keyUuid, secret] = keyForm.exec(text) ?? [];
  if (keyUuid === undefined || secret === undefined) return undefined;
  return text.endsWith(checksumBase62(text.slice(0, -checksumDigits))) ? { keyUuid, secret } : undefined;
}

/** A masked key that its owner recognises. */
export function previewOf(keyUuid: string, secretEnd: string): string {
  return `${prefix}${keyUuid.slice(0, 8)}…${secretEnd}`;
}

export function secretEndOf(secret: string): string {
  return secret.slice(-4);
}
