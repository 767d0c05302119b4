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

describe('parseJsonBody: values that cannot be stored', () => {
  it.each([
    String.raw`{"a":"\u0000"}`,
    String.raw`{"a":["\ud800"]}`,
    String.raw`{"\udfff":1}`,
    '{"a":{"__proto__":1}}',
    String.raw`{"a":{"__pr\u006fto__":1}}`,
    String.raw`{"a":{"c\u006fnstructor":1}}`,
    '[{"constructor":{}}]',
    '{"prototype":null}',
    '{"a":1e400}',
    `${'['.repeat(33)}${']'.repeat(33)}`,
    JSON.stringify(Object.fromEntries(Array.from({ length: 2001 }, (_, at) => [at, at]))),
    '{"a":"\0"}',
  ])('%.60s is refused', (text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ status: 400 }));
  });

  it.each([
    String.raw`{"a":"\ud83d\ude00 \\u0000"}`,
    '{"a":"__proto__ and constructor"}',
    `${'['.repeat(32)}${']'.repeat(32)}`,
    JSON.stringify(Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [at, at]))),
  ])('%.60s is taken', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });
});
