import type { JsonSchema } from '#test/support/bad-input';

type Json = Record<string, unknown>;

/** One property of a body at one of its bounds. */
export type BoundBody = { what: string; body: Json };

/** For each property that a body may have: the least and the most that its schema lets through, and null. */
export function boundBodies(schema: JsonSchema, valid: Json): BoundBody[] {
  const options = (schema.anyOf ?? [schema]).filter(({ properties }) => properties !== undefined);
  return options.flatMap(({ properties = {} }) =>
    Object.entries(properties).flatMap(([name, child]) =>
      valuesOf(child, valid[name]).map((value) => ({
        what: `${name} = ${JSON.stringify(value).slice(0, 60)}`,
        body: { [name]: value },
      })),
    ),
  );
}

function valuesOf(schema: JsonSchema, valid: unknown): unknown[] {
  return (schema.anyOf ?? [schema]).flatMap((option): unknown[] => {
    if (option.enum !== undefined) return option.enum;
    switch (option.type) {
      case 'null':
        return [null];
      case 'boolean':
        return [true, false];
      case 'integer':
      case 'number':
        return [option.minimum, option.maximum].filter((value) => value !== undefined);
      case 'string':
        return textsOf(option);
      case 'array':
        return Array.isArray(valid) ? [[], valid, Array.from({ length: option.maxItems ?? 1 }, () => valid[0])] : [[]];
      case undefined:
      default:
        return typeof valid === 'object' ? [{}, ...innerOf(option, valid as Json)] : [{}];
    }
  });
}

/** An object with one of its own properties at a bound. */
function innerOf(schema: JsonSchema, valid: Json | null): Json[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    valuesOf(child, valid?.[name]).map((value) => ({ ...valid, [name]: value })),
  );
}

const byFormat: Readonly<Record<string, string[]>> = {
  uuid: [],
  email: [`${'x'.repeat(60)}@${'y'.repeat(60)}.${'z'.repeat(60)}.example`],
  'date-time': ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '2026-06-01T12:00:00+14:00'],
  'time-zone': ['UTC', 'America/Argentina/ComodRivadavia'],
};

/** Of characters that take one, three and four bytes. */
function textsOf({ format = '', minLength = 0, maxLength = 0, pattern }: JsonSchema): string[] {
  const known = byFormat[format];
  if (known !== undefined) return known;
  if (format.endsWith('uri')) return [`https://example.com/${'x'.repeat(maxLength - 20)}`];
  if (format === 'app-route') return [`/${'x'.repeat(maxLength - 1)}`];
  const lengths = [minLength, maxLength];
  const characters = pattern === undefined || pattern === '\\S' ? ['x', '\u20ac', '\u{1f600}'] : ['0'];
  return lengths.flatMap((length) => characters.map((character) => character.repeat(length)));
}
