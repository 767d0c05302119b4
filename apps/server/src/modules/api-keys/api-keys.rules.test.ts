import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { composeKey, parseKey, previewOf, secretEndOf } from '#modules/api-keys/api-keys.rules';

const keyUuid = '0b9d0448-9500-44c1-88a9-0b3a41c0d9f9';
const random = 'EL6NjvPOm3gHZ6Bi7FRdQ7Q21jl3Kdrye4Ozmgkq123';

describe('composeKey', () => {
  it('appends a checksum of the text before it', () => {
    const { fullKey, secret } = composeKey(keyUuid, random);
    expect(fullKey).toMatch(/^svc_sk_[0-9a-f-]{36}_[0-9A-Za-z]{49}$/);
    expect(fullKey.startsWith(`svc_sk_${keyUuid}_${random}`)).toBe(true);
    expect(secret).toBe(fullKey.slice(-49));
    // The checksum must never change: issued keys must stay valid.
    expect(secret.slice(43)).toBe('1CHaMJ');
  });
});

describe('parseKey', () => {
  it('parses a composed key', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.stringMatching(/^[0-9A-Za-z]{43}$/), (uuid, text) => {
        const { fullKey, secret } = composeKey(uuid, text);
        expect(parseKey(fullKey)).toEqual({ keyUuid: uuid, secret });
      }),
    );
  });

  it('refuses a key with any changed character', () => {
    const { fullKey } = composeKey(keyUuid, random);
    const changed = Array.from(fullKey, (own, at) =>
      ['0', '1', 'a', 'Z', '_', '-', ' ', 'é']
        .filter((sign) => sign !== own)
        .map((sign) => fullKey.slice(0, at) + sign + fullKey.slice(at + 1)),
    );
    expect(changed.flat().filter((text) => parseKey(text) !== undefined)).toEqual([]);
  });

  it('refuses truncated, extended and reworded keys', () => {
    const { fullKey } = composeKey(keyUuid, random);
    const swapped = `${fullKey.slice(0, 50)}${fullKey[51]}${fullKey[50]}${fullKey.slice(52)}`;
    for (const text of [
      '',
      ' ',
      fullKey.slice(1),
      fullKey.slice(0, -1),
      `${fullKey}0`,
      `${fullKey}\n`,
      ` ${fullKey}`,
      `${fullKey},${fullKey}`,
      fullKey.toUpperCase(),
      fullKey.replace(keyUuid, keyUuid.toUpperCase()),
      fullKey.replace(keyUuid, keyUuid.replaceAll('-', '')),
      fullKey.replace('svc_sk_', 'svc_pk_'),
      swapped,
    ])
      expect(parseKey(text)).toBeUndefined();
  });
});

it('previewOf shows the beginning of the public part and the last characters', () => {
  const { secret } = composeKey(keyUuid, random);
  expect(previewOf(keyUuid, secretEndOf(secret))).toBe('svc_sk_0b9d0448…HaMJ');
});
