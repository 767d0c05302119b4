import fc from 'fast-check';

import { badValues, type JsonSchema } from '#test/support/bad-input';

type Known = Readonly<Record<string, readonly string[]>>;

const nasty = [
  '',
  ' ',
  '\0',
  '\ud800',
  '\u202e\u0000',
  '__proto__',
  "' or 1=1 --",
  '%',
  '_%\\',
  '..%2f..%2f',
  '=cmd()',
  '\r\nSet-Cookie: a=b',
  '{{7*7}}',
  '${x}',
  'NaN',
  'null',
  '1e400',
  'e\u0301'.repeat(1000),
  'x'.repeat(10_001),
  ...Object.values(badValues).flat(),
];

/** Text of every kind: ordinary, any Unicode, and what has broken parsers before. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(...nasty),
);

const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  anyText,
  fc.constantFrom(null, true, false, 0, -0, -1, 1.5, 2 ** 31, 2 ** 53 + 2, 2 ** 60, 1e30, -1e308),
  fc.jsonValue({ maxDepth: 3 }),
  fc.array(fc.constant({}), { maxLength: 3 }),
);

/** Values that fit the schema, with ids of records that exist now and then. */
function fitting(schema: JsonSchema, known: Known): fc.Arbitrary<unknown> {
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((option) => fitting(option, known)));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const byType: Record<string, () => fc.Arbitrary<unknown>> = {
    boolean: () => fc.boolean(),
    null: () => fc.constant(null),
    integer: () => fc.integer({ min: schema.minimum ?? -1000, max: Math.min(schema.maximum ?? 1000, 2 ** 31 - 1) }),
    number: () => fc.double({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000, noNaN: true }),
    array: () => fc.array(fitting(schema.items ?? {}, known), { maxLength: Math.min(schema.maxItems ?? 3, 3) }),
    object: () => fittingObject(schema, known),
    string: () => fittingText(schema, known),
  };
  return byType[schema.type ?? '']?.() ?? anyJson;
}

function fittingObject(schema: JsonSchema, known: Known): fc.Arbitrary<unknown> {
  const [pattern, values] = Object.entries(schema.patternProperties ?? {})[0] ?? [];
  if (schema.properties === undefined && values !== undefined) {
    const key = pattern === '^.*$' ? fc.string({ maxLength: 10 }) : fc.stringMatching(new RegExp(pattern!));
    return fc.dictionary(key, fitting(values, known), { maxKeys: 3 });
  }
  const properties = Object.entries(schema.properties ?? {}).map(([name, child]) => [name, fitting(child, known)]);
  return fc.record(Object.fromEntries(properties) as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: schema.required ?? [],
  });
}

function fittingText(schema: JsonSchema, known: Known): fc.Arbitrary<string> {
  const texts: Record<string, fc.Arbitrary<string>> = {
    uuid: fc.oneof(fc.uuid(), fc.constantFrom(...(known.uuid ?? ['00000000-0000-4000-8000-000000000000']))),
    'date-time': fc
      .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString()),
    email: fc.oneof(
      fc.stringMatching(/^[a-z]{1,20}$/).map((name) => `${name}@fuzz.example`),
      fc.constantFrom(...(known.email ?? ['unknown@fuzz.example'])),
    ),
    uri: fc.oneof(fc.webUrl(), fc.constantFrom('mailto:ada@fuzz.example', 'tel:+431', 'urn:isbn:1', 'x-app:a')),
    'app-route': fc.oneof(fc.webUrl({ validSchemes: ['https'] }), fc.constantFrom('/', '/rules?a=b#c', 'rules')),
    'secure-uri': fc.webUrl({ validSchemes: ['https'] }),
    'ip-range': fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.tuple(fc.ipV4(), fc.nat({ max: 33 })).map(([address, bits]) => `${address}/${bits}`),
      fc.tuple(fc.ipV6(), fc.nat({ max: 129 })).map(([address, bits]) => `${address}/${bits}`),
    ),
    'time-zone': fc.constantFrom('UTC', 'Europe/Vienna', 'America/Argentina/Buenos_Aires'),
  };
  const byFormat = texts[schema.format ?? ''];
  if (byFormat !== undefined) return byFormat;
  if (schema.pattern !== undefined && schema.pattern !== '\\S') return fc.stringMatching(new RegExp(schema.pattern));
  const [minLength, maxLength] = [schema.minLength ?? 0, schema.maxLength ?? 100];
  return fc.oneof(
    fc.string({ unit: 'grapheme-ascii', minLength, maxLength: Math.min(maxLength, minLength + 30) }),
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, minLength + 30) }),
    fc.constantFrom(
      'x'.repeat(minLength),
      'x'.repeat(maxLength),
      'x'.repeat(maxLength + 1),
      '\u{1F600}'.repeat(maxLength),
    ),
  );
}

/** A body that fits, one with a single thing wrong in it, or one that has nothing to do with the schema. */
export function bodyFor(schema: JsonSchema, known: Known): fc.Arbitrary<unknown> {
  const fits = fitting(schema, known);
  const names = Object.keys(schema.properties ?? {});
  const name = names.length === 0 ? fc.constant('a') : fc.constantFrom(...names);
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
  return fc.oneof(
    { weight: 3, arbitrary: fits },
    {
      weight: 4,
      arbitrary: fc
        .tuple(fits, name, anyJson)
        .map(([body, key, value]) => (isObject(body) ? { ...body, [key]: value } : body)),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fits, fc.string({ maxLength: 10 }), anyJson)
        .map(([body, key, value]) => (isObject(body) ? { ...body, [key]: value } : body)),
    },
    { weight: 1, arbitrary: anyJson },
  );
}

/** A query string: right values, wrong values, unknown names, duplicate names. */
export function queryFor(schema: JsonSchema | undefined, known: Known): fc.Arbitrary<string> {
  const entries = Object.entries(schema?.properties ?? {}).map(([name, child]) =>
    fc.tuple(fc.constant(name), fc.oneof(fitting(child, known).map(String), anyText)),
  );
  const unknown = fc.tuple(fc.string({ maxLength: 10 }), anyText);
  return fc
    .array(fc.oneof(...entries, unknown), { maxLength: 4 })
    .map((pairs) => pairs.map(([name, value]) => `${percent(name)}=${percent(value)}`).join('&'));
}

/** Percent-encoding that also has a form for text that is not Unicode. */
export function percent(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll("'", '%27');
}
