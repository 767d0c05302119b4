import jsQr from 'jsqr';
import { Secret, URI } from 'otpauth';
import { generateSync } from 'otplib';
import { PNG } from 'pngjs';
import { describe, expect, it } from 'vitest';

import { newSeed, presentSeed, stepOf } from '#modules/two-factor/codes/totp';

// RFC 6238 appendix B, SHA-1: the seed, and the eight digits at each time in seconds.
const rfcSeed = Secret.fromLatin1('12345678901234567890').base32;
const rfcCodes: [number, string][] = [
  [59, '94287082'],
  [1111111109, '07081804'],
  [1111111111, '14050471'],
  [1234567890, '89005924'],
  [2000000000, '69279037'],
  [20000000000, '65353130'],
];

const at = (seconds: number) => new Date(seconds * 1000);

describe('stepOf', () => {
  it.each(rfcCodes)('at %i takes the last six digits of %s (RFC 6238 appendix B)', (seconds, digits) => {
    const code = digits.slice(-6);
    const step = Math.floor(seconds / 30);
    expect(stepOf(rfcSeed, code, at(seconds))).toBe(step);
    expect(stepOf(rfcSeed, digits, at(seconds))).toBeUndefined();
  });

  it('accepts a difference of one step, and returns the step of the code', () => {
    const begins = 1_700_000_010;
    const step = begins / 30;
    for (let count = 0; count < 20; count++) {
      const secret = newSeed();
      const code = generateSync({ secret, epoch: begins });
      for (const shift of [-30, 0, 29, 59]) {
        expect({ shift, found: stepOf(secret, code, at(begins + shift)) }).toEqual({ shift, found: step });
      }
      for (const shift of [-3600, -31, 60, 3600]) {
        // The code may happen to match another step, but never its own.
        expect(stepOf(secret, code, at(begins + shift))).not.toBe(step);
      }
    }
  });

  it('accepts only six ASCII digits', () => {
    const seconds = 59;
    for (const code of ['', '28708', '2870822', '287 82', '２８７０８２', '-28708', '28708\n', '0x4617', 'abcdef'])
      expect({ code, step: stepOf(rfcSeed, code, at(seconds)) }).toEqual({ code, step: undefined });
  });
});

describe('newSeed', () => {
  it('is 160 bits in Base32, and always different', () => {
    const seeds = Array.from({ length: 200 }, newSeed);
    expect(new Set(seeds).size).toBe(200);
    for (const seed of seeds) expect(seed).toMatch(/^[A-Z2-7]{32}$/);
    // Every bit varies: none is always zero.
    const bytes = seeds.map((seed) => Secret.fromBase32(seed).bytes);
    const any = (fold: (sum: number, byte: number) => number, start: number) =>
      Array.from({ length: 20 }, (_, place) => bytes.reduce((sum, all) => fold(sum, all[place]!), start));
    expect(any((sum, byte) => sum | byte, 0)).toEqual(Array<number>(20).fill(255));
    expect(any((sum, byte) => sum & byte, 255)).toEqual(Array<number>(20).fill(0));
  });
});

describe('presentSeed', () => {
  it.each(['ada@example.com', 'ada+work:1%@exämple.com', `${'a'.repeat(64)}@${'b'.repeat(60)}.example.com`])(
    'says what an app needs, in the URI and in the picture: %s',
    async (email) => {
      const seed = newSeed();
      const { uri, dataUrl } = await presentSeed(seed, email);
      const read = URI.parse(uri);
      expect(read).toMatchObject({ issuer: 'Atrium', label: email, algorithm: 'SHA1', digits: 6, period: 30 });
      expect(read.secret.base32).toBe(seed);
      expect(uri).toMatch(/^otpauth:\/\/totp\/Atrium:/);
      expect(new URL(uri).searchParams.get('secret')).toBe(seed);
      const [, base64] = /^data:image\/png;base64,(.+)$/.exec(dataUrl)!;
      const picture = PNG.sync.read(Buffer.from(base64!, 'base64'));
      const found = jsQr.default(new Uint8ClampedArray(picture.data), picture.width, picture.height);
      expect(found?.data).toBe(uri);
    },
  );
});
