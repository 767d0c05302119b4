import { Ajv, type ErrorObject } from 'ajv';
import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';

import type { JsonSchema } from '#modules/type-definitions/json-schemas.rules';
import { prepareEvaluation, unknownProperty } from '#modules/type-definitions/schema-evaluation.rules';

const formats = { digits: (text: string) => /^\d*$/.test(text) };
const ajv = new Ajv({
  strict: false,
  allErrors: true,
  ownProperties: true,
  meta: false,
  validateSchema: false,
  multipleOfPrecision: 9,
  formats,
});

// The library only compares items of the type that the schema expects.
ajv.removeKeyword('uniqueItems');
ajv.addKeyword({
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must NOT have duplicate items' },
  validate: (isUnique: boolean, items: unknown[]) =>
    !isUnique || items.every((item, at) => !items.slice(0, at).some((other) => isDeepStrictEqual(item, other))),
});

/** The errors of a validator that generates code, as the reference for each keyword. */
function foundByReference(schema: JsonSchema, value: unknown): string[] {
  const validate = ajv.compile(schema);
  ajv.removeSchema(schema);
  return validate(value) ? [] : validate.errors!.map(asText).toSorted();
}

function asText({ keyword, instancePath, message, params }: ErrorObject): string {
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
  const last = missingProperty ?? additionalProperty;
  const place = instancePath
    .slice(1)
    .split('/')
    .filter(Boolean)
    .concat(last ?? [])
    .join('.');
  if (keyword === 'required') return `${place}: is required`;
  if (keyword === 'additionalProperties') return `${place}: ${unknownProperty}`;
  return `${place}: ${message!.replace(/ \(.*/, '')}`;
}

function found(schema: JsonSchema, value: unknown, maxSteps = 1e9): string[] | undefined {
  return prepareEvaluation(
    schema,
    { steps: maxSteps, errors: 1e9 },
    formats,
  )(value)
    ?.map(({ steps, message }) => `${steps.join('.')}: ${message}`)
    .toSorted();
}

const name = fc.constantFrom('a', 'b', 'c', 'toString');
const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'object', 'array', 'null');
const scalar = fc.constantFrom<unknown>('', 'a', '12', '😀', 'a😀b', 0, 1, -2, 0.3, 1.5, true, false, null);
const small = fc.nat({ max: 3 });
const number = fc.constantFrom(-1, 0, 0.5, 1, 2);

const anySchema = fc.letrec<{ schema: unknown; object: JsonSchema }>((tie) => {
  const several = fc.array(tie('schema'), { minLength: 1, maxLength: 3 });
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    enum: fc.array(scalar, { minLength: 1, maxLength: 4 }),
    const: scalar,
    multipleOf: fc.constantFrom(0.1, 0.5, 2),
    format: fc.constant('digits'),
    uniqueItems: fc.boolean(),
    items: tie('schema'),
    properties: fc.dictionary(name, tie('schema'), { maxKeys: 3, noNullPrototype: true }),
    required: fc.uniqueArray(name, { maxLength: 3 }),
    additionalProperties: tie('schema'),
    not: tie('schema'),
    ...Object.fromEntries(['if', 'then', 'else'].map((key) => [key, tie('schema')])),
    ...Object.fromEntries(['anyOf', 'oneOf', 'allOf'].map((key) => [key, several])),
    ...Object.fromEntries(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((key) => [key, number])),
    ...Object.fromEntries(
      ['Length', 'Items', 'Properties'].flatMap((what) => [`min${what}`, `max${what}`].map((key) => [key, small])),
    ),
  };
  const pairs = Object.entries(keywords).map(([key, argument]) => fc.tuple(fc.constant(key), argument));
  return {
    schema: fc.oneof({ maxDepth: 3 }, fc.boolean(), tie('object')),
    // Each schema has few keywords, because the reference needs a second to compile all of them.
    object: fc.array(fc.oneof(...pairs), { maxLength: 4 }).map((some) => Object.fromEntries(some) as JsonSchema),
  };
}).object;

const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(name, fc.constant('d')), tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

describe('prepareEvaluation', () => {
  it('finds the errors that a validator with generated code finds', () => {
    fc.assert(
      fc.property(anySchema, fc.array(anyValue, { minLength: 1, maxLength: 5 }), (schema, values) => {
        for (const value of values) expect(found(schema, value)).toEqual(foundByReference(schema, value));
      }),
      { numRuns: 300 },
    );
  }, 60_000);

  it('stops exactly at the limit of steps', () => {
    const schema = { items: { anyOf: [{ required: ['a', 'b'] }, { properties: { a: false } }] } };
    const value = Array.from({ length: 100 }, () => ({ a: 1 }));
    const enough = Array.from({ length: 5000 }, (_, steps) => steps).findIndex(
      (steps) => found(schema, value, steps) !== undefined,
    );
    expect(enough).toBeGreaterThan(800);
    expect(found(schema, value, enough - 1)).toBeUndefined();
    expect(found(schema, value, enough)).toEqual(found(schema, value));
  });

  it.each([
    ['items', { items: false }, Array.from({ length: 5000 }, () => 1)],
    [
      'properties',
      { additionalProperties: false },
      Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [at, 1])),
    ],
  ])('counts the %s that each of many schemas refuses', (_what, refusing, value) => {
    const schema = { anyOf: Array.from({ length: 45 }, () => refusing) };
    expect(found(schema, value, 50_000)).toBeUndefined();
  });

  it('visits neither the rest of a value above the limit nor missing properties', () => {
    let visited = 0;
    const watch = (target: object) =>
      new Proxy(target, {
        get: (list, key) => {
          if (/^\d+$/.test(String(key))) visited += 1;
          return Reflect.get(list, key) as unknown;
        },
        getOwnPropertyDescriptor: (list, key) => {
          visited += 1;
          return Reflect.getOwnPropertyDescriptor(list, key);
        },
      });
    expect(found({ items: {} }, watch(Array.from({ length: 1_000_000 }, () => 1)), 100)).toBeUndefined();
    expect(visited).toBeLessThan(200);
    visited = 0;
    const properties = Object.fromEntries(Array.from({ length: 190 }, (_, at) => [`p${at}`, {}]));
    expect(found({ properties }, watch({ p1: 1 }))).toEqual([]);
    expect(visited).toBeLessThan(5);
  });

  it('checks the format and the length of a text once for all rules', () => {
    let asked = 0;
    const counting = { digits: () => ((asked += 1), true) };
    const alternatives = Array.from({ length: 100 }, () => ({ items: { format: 'digits' } }));
    const evaluate = prepareEvaluation({ allOf: alternatives } as JsonSchema, { steps: 1e6, errors: 20 }, counting);
    expect(evaluate(['1', '2'])).toEqual([]);
    expect(asked).toBe(2);
  });
});
