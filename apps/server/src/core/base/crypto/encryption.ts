import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

import { deriveKey, sha256Hex } from '#core/base/crypto/secrets';

/** Encrypts single columns. `place` names table, column and row, so that a value moved elsewhere does not open. */
export type Encryption = {
  encrypt(plain: string, context: string): string;
  /** @throws Error when the value was tampered with, moved, or written under a key that is no longer configured. */
  decrypt(sealed: string, context: string): string;
  /** Whether a value was written under the current key. */
  isCurrent(sealed: string): boolean;
  /** A key of its own for one purpose, from the current key. */
  keyFor(purpose: string): Buffer;
};

const ivBytes = 12;
const tagBytes = 16;

/**
 * AES-256-GCM envelopes: a random data key per value, wrapped by the current key.
 * `v1.<key id>.<wrapped data key>.<value>`, each part `iv | ciphertext | tag` in base64url.
 * @param keys the current key first, then those that may still open values.
 */
export function createEncryption(keys: readonly [Buffer, ...Buffer[]]): Encryption {
  const ring = keys.map((key) => ({
    id: keyIdOf(key),
    wrap: deriveKey(key, 'envelope'),
  }));
  const current = ring[0]!;
  return {
    encrypt(plain, context) {
      const dataKey = randomBytes(32);
      const wrapped = seal(current.wrap, dataKey, context);
      return `v1.${current.id}.${wrapped}.${seal(dataKey, Buffer.from(plain, 'utf8'), context)}`;
    },
    decrypt(sealed, context) {
      const [version, keyId, wrapped, value, ...rest] = sealed.split('.');
      const key = ring.find((candidate) => candidate.id === keyId);
      if (version !== 'v1' || wrapped === undefined || value === undefined || rest.length > 0)
        throw new Error('not an encrypted value');
      if (key === undefined) throw new Error(`no ENCRYPTION_KEY with id ${keyId} is configured`);
      return open(open(key.wrap, wrapped, context), value, context).toString('utf8');
    },
    isCurrent: (sealed) => sealed.split('.')[1] === current.id,
    keyFor: (purpose) => deriveKey(keys[0], purpose),
  };
}

/** Marks values with their key; it reveals nothing about the key. */
export function keyIdOf(key: Buffer): string {
  return sha256Hex(key.toString('hex')).slice(0, 8);
}

function seal(key: Buffer, plain: Buffer, context: string): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context, 'utf8'));
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

function open(key: Buffer, sealed: string, context: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64url');
  // Node ignores characters that are not base64url; only the exact encoding is valid.
  if (bytes.toString('base64url') !== sealed) throw new Error('not an encrypted value');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(context, 'utf8')).setAuthTag(bytes.subarray(-tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()]);
}
