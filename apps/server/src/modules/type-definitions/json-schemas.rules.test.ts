import { describe, expect, it } from 'vitest';

import { conceal, sizeOf } from '#modules/type-definitions/json-schemas.rules';

describe('sizeOf', () => {
  it('counts schemas at all places, including the outermost one', () => {
    expect(sizeOf(true)).toEqual({ subschemas: 1, depth: 1 });
    expect(sizeOf({})).toEqual({ subschemas: 1, depth: 1 });
    const schema = {
      properties: { a: {}, b: false },
      additionalProperties: {},
      items: {},
      anyOf: [{}, {}],
      oneOf: [{}],
      allOf: [{ not: {} }],
      ...Object.fromEntries(['if', 'then', 'else'].map((name) => [name, {}])),
    };
    expect(sizeOf(schema)).toEqual({ subschemas: 13, depth: 3 });
  });
});

describe('conceal', () => {
  const errors = [
    { path: 'properties.a', message: 'is required', property: 'a' },
    { path: 'properties.b.0', message: 'must be string', property: 'b' },
    { path: 'properties.c', message: 'is required', property: 'c' },
    { path: 'properties', message: 'must NOT have fewer than 5 properties', property: undefined },
  ];

  it('returns all errors without duplicates if the caller sees all properties', () => {
    expect(conceal([...errors, errors[0]!], undefined)).toEqual(errors.map(({ path, message }) => ({ path, message })));
  });

  it('does not name properties that the caller does not see', () => {
    const told = conceal(errors, new Set(['a']));
    expect(told).toEqual([
      { path: 'properties.a', message: 'is required' },
      { path: 'properties', message: 'properties that you cannot see do not match the type' },
      { path: 'properties', message: 'must NOT have fewer than 5 properties' },
    ]);
  });
});
