import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';

import { createEncryption } from '#core/base/crypto/encryption';

const [current, previous, foreign] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const encryption = createEncryption([current, previous]);
const place = 'accounts.password_hash:1';
const text = fc.string({ unit: 'binary', maxLength: 200 }).filter((value) => value.isWellFormed());

function expectClosed(sealed: string, where = place): void {
  expect(() => encryption.decrypt(sealed, where)).toThrow(Error);
}

describe('encryption', () => {
  it('gives back what was put in, in the same place', () => {
    fc.assert(
      fc.property(text, text, (plain, where) => {
        expect(encryption.decrypt(encryption.encrypt(plain, where), where)).toBe(plain);
      }),
    );
  });

  it('never makes the same of the same', () => {
    expect(encryption.encrypt('plain', place)).not.toBe(encryption.encrypt('plain', place));
  });

  it('shows nothing of the text', () => {
    expect(Buffer.from(encryption.encrypt('a secret text', place)).includes('secret')).toBe(false);
  });

  it('opens nothing of which any character was changed', () => {
    const sealed = encryption.encrypt('plain', place);
    const changed = Array.from(sealed, (_, at) =>
      ['A', 'B', '.', '!', '=', ' '].map((sign) => sealed.slice(0, at) + sign + sealed.slice(at + 1)),
    );
    for (const value of changed.flat().filter((one) => one !== sealed)) expectClosed(value);
  });

  it('opens nothing of which anything was cut, added or swapped', () => {
    const [sealed, other] = [encryption.encrypt('plain', place), encryption.encrypt('other', place)];
    const parts = sealed.split('.');
    const otherParts = other.split('.');
    const changed = [
      '',
      sealed.slice(1),
      `${sealed}.`,
      `${sealed}.x`,
      `${sealed}=`,
      ` ${sealed}`,
      `${sealed}\n`,
      [parts[0], parts[1], parts[2], otherParts[3]].join('.'),
      [parts[0], parts[1], otherParts[2], parts[3]].join('.'),
      [parts[0], parts[1], parts[3], parts[2]].join('.'),
      [parts[0], parts[1], parts[2]].join('.'),
      [parts[0], parts[1], parts[2], ''].join('.'),
      ...Array.from({ length: parts[3]!.length }, (_, cut) => sealed.slice(0, -cut - 1)),
    ];
    for (const value of changed) expectClosed(value);
  });

  it('opens nothing that was moved to another place', () => {
    fc.assert(
      fc.property(text, text, (here, there) => {
        fc.pre(here !== there);
        const sealed = encryption.encrypt('plain', here);
        expectClosed(sealed, there);
      }),
    );
  });

  it('opens with the previous key, and writes with the current one', () => {
    const old = createEncryption([previous]).encrypt('plain', place);
    expect(encryption.decrypt(old, place)).toBe('plain');
    expect(createEncryption([current]).decrypt(encryption.encrypt('plain', place), place)).toBe('plain');
    expect(() => createEncryption([previous]).decrypt(encryption.encrypt('plain', place), place)).toThrow(
      'no ENCRYPTION_KEY',
    );
  });

  it('names the missing key, and nothing secret', () => {
    const sealed = createEncryption([foreign]).encrypt('plain', place);
    expect(() => encryption.decrypt(sealed, place)).toThrow(/^no ENCRYPTION_KEY with id [0-9a-f]{8} is configured$/);
  });

  it('does not open a foreign value that claims our key', () => {
    const [version, , ...rest] = createEncryption([foreign]).encrypt('plain', place).split('.');
    const ownId = encryption.encrypt('plain', place).split('.')[1];
    expectClosed([version, ownId, ...rest].join('.'));
  });

  it('has one key per purpose and installation', () => {
    const keys = [
      encryption.keyFor('rate-limits'),
      encryption.keyFor('other'),
      createEncryption([foreign]).keyFor('rate-limits'),
      current,
    ];
    expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(4);
    expect(encryption.keyFor('rate-limits').equals(createEncryption([current]).keyFor('rate-limits'))).toBe(true);
  });
});
