import { describe, expect, it } from 'vitest';

import { parseJsonBody } from '#core/http/json';

const parse = (text: string) => parseJsonBody(Buffer.from(text));

describe('parseJsonBody: numbers', () => {
  it.each([
    '9007199254740992',
    '-9007199254740992',
    '1e30',
    '0.1234567890123456789',
    '"9007199254740993"',
    '[1, 2.50]',
  ])('%s is taken', (text) => {
    expect(parse(`{"a":${text}}`)).toEqual(JSON.parse(`{"a":${text}}`));
  });

  it.each([
    '9007199254740993',
    '-9007199254740993',
    '12345678901234567890',
    '[{"b":9007199254740993}]',
    '9'.repeat(400),
  ])('%s would be read back as another number and is refused', (text) => {
    expect(() => parse(`{"a":${text}}`)).toThrow(expect.objectContaining({ status: 400 }));
  });
});
