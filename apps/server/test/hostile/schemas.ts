import { createPropertyCheck, findSchemaErrors } from '#modules/type-definitions/property-checks';
import { measureStalls, type HostileCase, type Stall } from './stall.ts';

type Schema = Record<string, unknown>;

const named = (count: number, schema: (at: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, schema(at)]));
const names = (count: number) => Array.from({ length: count }, (_, at) => `r${at}`);
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
const ofList = (items: Schema): Schema => ({ properties: { a: { items } } });

const everyRule = {
  type: 'string',
  minLength: 1,
  maxLength: 5,
  format: 'email',
  enum: ['a'],
  uniqueItems: true,
  minItems: 1,
  maxItems: 4,
  required: ['a'],
  multipleOf: 2,
};

const schemas: [string, Schema][] = [
  ['160 properties with ten rules each', { properties: named(160, () => everyRule) }],
  ['100 properties that require 50 names', { properties: named(100, () => ({ required: names(50) })) }],
  ['100 enumerations of 100 values', { properties: named(100, () => ({ enum: numbers(100) })) }],
  ['conditions in alternatives', { oneOf: Array.from({ length: 25 }, () => condition()) }],
  ['10,000 schemas', { anyOf: Array.from({ length: 50 }, () => ({ allOf: Array.from({ length: 50 }, () => ({})) })) }],
  ['3,000 unknown keywords', named(3000, () => 0)],
];

function condition(): Schema {
  const inner = { not: { not: { not: { not: { required: ['a', 'b'] } } } } };
  return JSON.parse(`{"if":${JSON.stringify(inner)},"then":false}`) as Schema;
}

const checks: [string, Schema, unknown][] = [
  ['12,000 values in an enumeration of 200', ofList({ enum: numbers(200).map((at) => at + 1000) }), numbersOf(12_000)],
  ['400 values in 50 alternatives', ofList({ anyOf: numbers(50).map((at) => ({ const: at })) }), numbersOf(400, 60)],
  ['10,900 empty objects, 190 properties', ofList({ properties: named(190, () => ({})) }), listOf(10_900, {})],
  ['250 objects that miss 190 names each', ofList({ required: names(190) }), listOf(250, {})],
  ['1,300 addresses of pages', ofList({ format: 'uri' }), listOf(1300, 'https://example.com/')],
  ['12,000 items that each of 90 schemas refuses', refusingAll(), numbersOf(12_000)],
  [
    'a text of 32 KiB against 100 formats',
    { allOf: numbers(100).map(() => longText()) },
    `https://a/${'é'.repeat(16_000)}`,
  ],
];

function numbersOf(count: number, value = 1): number[] {
  return Array.from({ length: count }, () => value);
}

function listOf(count: number, value: unknown): unknown[] {
  return Array.from({ length: count }, () => value);
}

function refusingAll(): Schema {
  const refusing = { anyOf: numbers(45).map(() => ({ items: false })) };
  return { properties: { a: { anyOf: [refusing, refusing] } } };
}

function longText(): Schema {
  return { properties: { a: { format: 'uri', minLength: 16_000, maxLength: 16_010 } } };
}

/** The worst schemas that a tenant may send, made ready, and the worst properties that a schema may be held against. */
export function measureSchemas(): Promise<Stall[]> {
  const made = schemas.map(([name, schema]): HostileCase => ({ name, text: JSON.stringify(schema), work: make }));
  const checked = checks.map(([name, schema, a]): HostileCase => {
    const check = createPropertyCheck(schema);
    return { name, text: JSON.stringify({ a }), work: (text) => check(JSON.parse(text) as Schema) };
  });
  return measureStalls([...made, ...checked]);
}

function make(text: string): void {
  const schema = JSON.parse(text) as Schema;
  if (findSchemaErrors(schema).length === 0) createPropertyCheck(schema);
}
