import { describe, expect, it } from 'vitest';

import { schemaLimits } from '#modules/type-definitions/json-schemas.rules';
import { createPropertyCheck, findSchemaErrors } from '#modules/type-definitions/property-checks';

type Schema = Record<string, unknown>;

const of = (property: unknown): Schema => ({ type: 'object', properties: { a: property } });
const many = (count: number): Schema => ({
  properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'string' }])),
});
const deep = (levels: number): Schema => (levels === 1 ? {} : { properties: { a: deep(levels - 1) } });
const condition = (...schemas: unknown[]): Schema =>
  Object.fromEntries(['if', 'then', 'else'].map((name, at) => [name, schemas[at]]));
const problems = (schema: Schema) => findSchemaErrors(schema).map(({ path, message }) => `${path}: ${message}`);

describe('findSchemaErrors', () => {
  const good: [string, Schema][] = [
    ['nothing at all', {}],
    ['draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }],
    ['2020-12', { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }],
    ['several types', of({ type: ['string', 'null'] })],
    ['enumerations', of({ enum: ['a', 1, null, true], default: 'a', title: 'T', description: 'D', examples: ['a'] })],
    ['numbers', of({ type: 'integer', minimum: 0, exclusiveMaximum: 5, multipleOf: 0.5, const: 3 })],
    ['texts', of({ type: 'string', minLength: 1, maxLength: 5, format: 'email', deprecated: true, $comment: 'c' })],
    ['lists', of({ type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3, uniqueItems: true })],
    ['objects', of({ type: 'object', required: ['x'], minProperties: 1, additionalProperties: { type: 'number' } })],
    ['alternatives', of({ anyOf: [{ type: 'string' }], oneOf: [true], allOf: [{}], not: { const: 5 } })],
    ['conditions', condition({ required: ['a'] }, { required: ['b'] }, false)],
    ['names of inherited properties', { properties: { toString: {}, valueOf: { type: 'string' } } }],
    ['as many schemas as allowed', many(schemaLimits.subschemas - 1)],
    ['as deep as allowed', deep(schemaLimits.depth)],
  ];
  it.each(good)('accepts %s', (_what, schema) => {
    expect(problems(schema)).toEqual([]);
  });

  const unknown = 'is not a supported keyword';
  const bad: [string, Schema, string][] = [
    ['a reference to itself', of({ $ref: '#' }), `json_schema.properties.a.$ref: ${unknown}`],
    ['a reference to outside', { $ref: 'https://example.com/s.json' }, `json_schema.$ref: ${unknown}`],
    ['definitions', { $defs: {} }, `json_schema.$defs: ${unknown}`],
    ['an id', { $id: 'https://example.com' }, `json_schema.$id: ${unknown}`],
    ['a pattern', of({ pattern: '^a$' }), `json_schema.properties.a.pattern: ${unknown}`],
    ['patterns of names', { patternProperties: { '^(a+)+$': {} } }, `json_schema.patternProperties: ${unknown}`],
    [
      'a pattern deep inside',
      of({ items: { not: { pattern: 'a' } } }),
      `json_schema.properties.a.items.not.pattern: ${unknown}`,
    ],
    ['an unknown keyword', of({ tpye: 'string' }), `json_schema.properties.a.tpye: ${unknown}`],
    ['a root that is not an object', { type: 'array' }, 'json_schema.type: must be equal to constant'],
    [
      'an unknown format',
      of({ format: 'regex' }),
      'json_schema.properties.a.format: must be equal to one of the allowed values',
    ],
    ['a minimum that is not a number', of({ minimum: '1' }), 'json_schema.properties.a.minimum: must be number'],
    ['a negative length', of({ maxLength: -1 }), 'json_schema.properties.a.maxLength: must be >= 0'],
    ['no properties', { properties: [] }, 'json_schema.properties: must be object'],
    ['a property without a schema', of(5), 'json_schema.properties.a: must be object,boolean'],
    ['an empty enumeration', of({ enum: [] }), 'json_schema.properties.a.enum: must NOT have fewer than 1 items'],
    [
      'an enumeration of objects',
      of({ enum: [{}] }),
      'json_schema.properties.a.enum.0: must be string,number,boolean,null',
    ],
    [
      'a condition without a consequence',
      of({ items: { if: {} } }),
      'json_schema: has an "if" without "then" and "else", which is ignored: add one of them or remove the "if"',
    ],
    [
      'a consequence without a condition',
      of(condition(undefined, {})),
      'json_schema: has a "then" or "else" without "if", which is ignored: add the "if" or remove them',
    ],
    [
      'another dialect',
      { $schema: 'http://json-schema.org/draft-04/schema#' },
      'json_schema.$schema: must be equal to one of the allowed values',
    ],
    [
      'one schema too many',
      many(schemaLimits.subschemas),
      'json_schema: must not have more than 200 schemas within it',
    ],
    ['one level too many', deep(schemaLimits.depth + 1), 'json_schema: must not be more than 8 schemas deep'],
  ];
  it.each(bad)('refuses %s', (_what, schema, problem) => {
    expect(problems(schema)).toContain(problem);
  });
});

describe('createPropertyCheck', () => {
  const check = (schema: Schema, properties: Schema) => {
    expect(findSchemaErrors(schema)).toEqual([]);
    return createPropertyCheck(schema)(properties).map(({ path, message }) => `${path}: ${message}`);
  };

  it('reports the error of each property, and never its value', () => {
    const schema = {
      properties: {
        seats: { type: 'integer', minimum: 1 },
        'a/b~c': { enum: ['x'] },
        list: { items: { type: 'string' } },
      },
      required: ['seats', 'floor'],
      additionalProperties: false,
    };
    const found = check(schema, { seats: 0.5, 'a/b~c': 'canary', list: ['x', 5], canary: 'canary-value' });
    expect(found.toSorted()).toEqual([
      'properties.a/b~c: must be equal to one of the allowed values',
      'properties.canary: is not a known property',
      'properties.floor: is required',
      'properties.list.1: must be string',
      'properties.seats: must be >= 1',
      'properties.seats: must be integer',
    ]);
    expect(check(schema, { seats: 3, floor: null, 'a/b~c': 'x' })).toEqual([
      'properties.floor: is not a known property',
    ]);
  });

  const formats: [string, string[], string[]][] = [
    ['date', ['2026-02-28', '2024-02-29'], ['2026-02-30', '2026-2-28', '2026-02-28T00:00:00Z', '']],
    ['date-time', ['2026-02-28T10:00:00Z'], ['2026-02-28', '2016-12-31T23:59:60Z']],
    ['email', ['ada@example.com'], ['ada', 'ada@']],
    ['ipv4', ['192.0.2.1'], ['192.0.2', '::1', '01.2.3.4']],
    ['ipv6', ['::1', '2001:db8::5'], ['192.0.2.1', ':::']],
    ['uri', ['https://example.com/a'], ['javascript:alert(1)', '/a']],
    ['uuid', ['01890a5d-ac96-774b-bcce-b302099a8057'], ['urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057', 'x']],
  ];
  it.each(formats)('checks the format %s', (format, good, bad) => {
    const fits = createPropertyCheck(of({ type: 'string', format }));
    expect(good.filter((a) => fits({ a }).length > 0)).toEqual([]);
    expect(bad.filter((a) => fits({ a }).length === 0)).toEqual([]);
  });

  it('compares items without regard to the order of their keys', () => {
    const schema = of({ uniqueItems: true });
    const unique = (a: unknown[]) => check(schema, { a }).length === 0;
    expect(unique([1, '1', true, null, 'true', [1], [[1]], {}, { x: 1 }, { x: 2 }])).toBe(true);
    expect(
      unique([
        { x: 1, y: [{ a: 1, b: 2 }] },
        { y: [{ b: 2, a: 1 }], x: 1 },
      ]),
    ).toBe(false);
    expect(unique([1, 1])).toBe(false);
    expect(check(of({ uniqueItems: false }), { a: [1, 1] })).toEqual([]);
  });

  it('accepts decimal multiples', () => {
    expect(check(of({ multipleOf: 0.1 }), { a: 0.3 })).toEqual([]);
    expect(check(of({ multipleOf: 0.1 }), { a: 0.35 })).toEqual(['properties.a: must be multiple of 0.1']);
  });

  it('ignores inherited properties', () => {
    expect(check({ required: ['toString'] }, {})).toEqual(['properties.toString: is required']);
  });

  it('lists at most twenty errors', () => {
    const required = Array.from({ length: 100 }, (_, at) => `p${at}`);
    expect(check({ required }, {})).toHaveLength(20);
  });

  it('refuses an evaluation that would block the thread', () => {
    const alternatives = Array.from({ length: 50 }, (_, at) => ({ const: `x${at}` }));
    const schema = of({ items: { anyOf: alternatives } });
    const list = (length: number) => ({ a: Array.from({ length }, () => 'x49') });
    expect(check(schema, list(300))).toEqual([]);
    expect(check(schema, list(8000))).toEqual(['properties: have too many values to check']);
  });

  it('generates no code from the schema of a tenant', () => {
    const texts: string[] = [];
    const native = globalThis.Function;
    const watched = new Proxy(native, {
      construct: (target, args: string[]) => (texts.push(...args), Reflect.construct(target, args) as object),
      apply: (target, self, args: string[]) => (texts.push(...args), Reflect.apply(target, self, args) as unknown),
    });
    findSchemaErrors({});
    globalThis.Function = watched;
    try {
      expect(check(many(100), { p1: 5 })).toEqual(['properties.p1: must be string']);
    } finally {
      globalThis.Function = native;
    }
    expect(texts).toEqual([]);
  });

  it('accepts the largest typical list', () => {
    const numbers = Array.from({ length: 10_000 }, (_, at) => at);
    expect(check(of({ type: 'array', items: { type: 'integer' }, uniqueItems: true }), { a: numbers })).toEqual([]);
  });
});
