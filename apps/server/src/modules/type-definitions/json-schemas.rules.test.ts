import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  conceal,
  sizeOf,
  stepsToCheck,
  type JsonSchema,
  type Subschema,
} from '#modules/type-definitions/json-schemas.rules';

const anySchema = fc.letrec<{ schema: Subschema; object: JsonSchema }>((tie) => ({
  schema: fc.oneof({ maxDepth: 4 }, fc.boolean(), tie('object')),
  object: fc.record(
    {
      properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { maxKeys: 3 }),
      required: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }),
      additionalProperties: tie('schema'),
      items: tie('schema'),
      anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
      not: tie('schema'),
    },
    { requiredKeys: [] },
  ),
})).object;

const anyProperties = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, 1, 'x'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'd'), tie('value'), { maxKeys: 3 }),
  ),
})).value;

describe('sizeOf', () => {
  it('counts schemas wherever one can stand, the outermost included', () => {
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

describe('stepsToCheck', () => {
  it('grows with the items of a list times what each is held against', () => {
    const schema = { properties: { list: { items: { anyOf: [{}, {}, {}] } } } };
    const steps = (length: number) => stepsToCheck(schema, { list: Array.from({ length }, () => 1) }, 1e9);
    expect(steps(20) - steps(10)).toBe(10 * (steps(1) - steps(0)));
    expect(steps(1) - steps(0)).toBeGreaterThan(3);
  });

  it('counts what is missing, because each is an error', () => {
    const schema = { items: { required: ['a', 'b', 'c'] } };
    expect(stepsToCheck(schema, [{}, {}], 1e9)).toBeGreaterThan(6);
  });

  it('is the same with any budget that is enough, and stops soon after one that is not', () => {
    fc.assert(
      fc.property(anySchema, anyProperties, fc.nat({ max: 50 }), (schema, value, budget) => {
        const all = stepsToCheck(schema, value, Number.MAX_SAFE_INTEGER);
        expect(stepsToCheck(schema, value, all)).toBe(all);
        expect(stepsToCheck(schema, value, budget) > budget).toBe(all > budget);
      }),
      { numRuns: 500 },
    );
  });

  it('does not visit the rest of a value that is far too large', () => {
    let visited = 0;
    const items = Array.from({ length: 1_000_000 }, () => 1);
    const watched = new Proxy(items, {
      get: (list, name) => {
        if (/^\d+$/.test(String(name))) visited += 1;
        return Reflect.get(list, name) as unknown;
      },
    });
    stepsToCheck({ items: {} }, watched, 100);
    expect(visited).toBeLessThan(200);
  });
});

describe('conceal', () => {
  const errors = [
    { path: 'properties.a', message: 'is required', property: 'a' },
    { path: 'properties.b.0', message: 'must be string', property: 'b' },
    { path: 'properties.c', message: 'is required', property: 'c' },
    { path: 'properties', message: 'must NOT have fewer than 5 properties', property: undefined },
  ];

  it('tells all of it to who sees all, once', () => {
    expect(conceal([...errors, errors[0]!], undefined)).toEqual(errors.map(({ path, message }) => ({ path, message })));
  });

  it('does not name what somebody does not see', () => {
    const told = conceal(errors, new Set(['a']));
    expect(told).toEqual([
      { path: 'properties.a', message: 'is required' },
      { path: 'properties', message: 'properties that you cannot see do not fit the type' },
      { path: 'properties', message: 'must NOT have fewer than 5 properties' },
    ]);
  });
});
