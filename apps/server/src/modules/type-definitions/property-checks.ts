import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';

import { formats } from '#core/http/formats';
import { ipVersion } from '#core/net/addresses';
import {
  schemaLimits,
  sizeOf,
  stepsToCheck,
  type JsonSchema,
  type PlacedError,
} from '#modules/type-definitions/json-schemas.rules';

/** What is wrong with the properties; empty when they fit. */
export type PropertyCheck = (properties: Record<string, unknown>) => PlacedError[];

const maxErrors = 20;
const unknownName = 'is not a known property';

const shared = {
  strict: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  allowUnionTypes: true,
  ownProperties: true,
  // Safe, because no schema repeats another: `stepsToCheck` bounds how many errors there can be.
  allErrors: true,
} as const;

// A day has no time of its own, so it is one when its midnight is.
const isDate = (text: string) => text.length === 10 && formats['date-time']!(`${text}T00:00:00Z`);

const propertyFormats = {
  date: isDate,
  'date-time': formats['date-time']!,
  email: formats.email!,
  ipv4: (text: string) => ipVersion(text) === 4,
  ipv6: (text: string) => ipVersion(text) === 6,
  uri: formats.uri!,
  uuid: formats.uuid!,
};

const count = { type: 'integer', minimum: 0, maximum: 1_000_000 };
const number = { type: 'number' };
const scalar = { type: ['string', 'number', 'boolean', 'null'], maxLength: 500 };
const inner = { $ref: '#/$defs/schema' };
const several = { type: 'array', minItems: 1, maxItems: 50, items: inner };
const types = { enum: ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] };

/**
 * The part of JSON Schema (draft-07 and 2020-12 agree on it) that types are written in. There are no references, which
 * could repeat a schema without end, and no patterns, because nobody can tell which of them take for ever.
 */
const keywords = {
  $schema: { enum: ['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft/2020-12/schema'] },
  $comment: { type: 'string', maxLength: 2000 },
  title: { type: 'string', maxLength: 200 },
  description: { type: 'string', maxLength: 2000 },
  default: {},
  examples: { type: 'array', maxItems: 20 },
  deprecated: { type: 'boolean' },
  type: { anyOf: [types, { type: 'array', minItems: 1, maxItems: 7, uniqueItems: true, items: types }] },
  enum: { type: 'array', minItems: 1, maxItems: 200, items: scalar },
  const: scalar,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: { type: 'number', exclusiveMinimum: 0 },
  minLength: count,
  maxLength: count,
  format: { enum: Object.keys(propertyFormats) },
  items: inner,
  minItems: count,
  maxItems: count,
  uniqueItems: { type: 'boolean' },
  properties: { type: 'object', propertyNames: { maxLength: 200 }, additionalProperties: inner },
  required: { type: 'array', maxItems: 200, items: { type: 'string', maxLength: 200 } },
  minProperties: count,
  maxProperties: count,
  additionalProperties: inner,
  anyOf: several,
  oneOf: several,
  allOf: several,
  ...Object.fromEntries(['not', 'if', 'then', 'else'].map((name) => [name, inner])),
};

let schemaCheck: ValidateFunction | undefined;

/** Made when the first schema comes: it is large, and most processes see none. */
function makeSchemaCheck(): ValidateFunction {
  return new Ajv({ ...shared, validateSchema: false }).compile({
    allOf: [{ $ref: '#/$defs/schema' }, { type: 'object', properties: { type: { const: 'object' } } }],
    $defs: { schema: { type: ['object', 'boolean'], properties: keywords, additionalProperties: false } },
  });
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join(',')}}`;
}

/** What keeps a JSON Schema from being the schema of a type; empty when nothing does. */
export function findSchemaErrors(schema: Record<string, unknown>): PlacedError[] {
  const about = (message: string) => [{ path: 'json_schema', message, property: undefined }];
  schemaCheck ??= makeSchemaCheck();
  if (!schemaCheck(schema)) {
    return placed('json_schema', schemaCheck.errors!).map((error) =>
      error.message === unknownName ? { ...error, message: 'is not a keyword that types are written in' } : error,
    );
  }
  const { subschemas, depth } = sizeOf(schema);
  if (subschemas > schemaLimits.subschemas) {
    return about(`must not have more than ${schemaLimits.subschemas} schemas within it`);
  }
  if (depth > schemaLimits.depth) return about(`must not be more than ${schemaLimits.depth} schemas deep`);
  try {
    compile(schema);
    return [];
  } catch (error) {
    return about((error as Error).message.slice(0, 200));
  }
}

/** @param schema one that `findSchemaErrors` has nothing against. */
export function createPropertyCheck(schema: JsonSchema): PropertyCheck {
  const validate = compile(schema);
  return (properties) => {
    if (stepsToCheck(schema, properties, schemaLimits.steps) > schemaLimits.steps) {
      return [{ path: 'properties', message: 'have too many values to check', property: undefined }];
    }
    return validate(properties) ? [] : placed('properties', validate.errors!);
  };
}

// Each with a compiler of its own: one for all would remember every schema that it has ever seen.
function compile(schema: object) {
  const ajv = new Ajv({
    ...shared,
    meta: false,
    validateSchema: false,
    multipleOfPrecision: 9,
    formats: propertyFormats,
  });
  // The library compares each item with each other one, which takes a second for a list of 16,000.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate: (isUnique: boolean, items: unknown[]) => !isUnique || new Set(items.map(canonical)).size === items.length,
  });
  return ajv.compile(schema);
}

function placed(root: string, errors: readonly ErrorObject[]): PlacedError[] {
  return errors.slice(0, maxErrors).map((error) => {
    const { missingProperty, additionalProperty } = error.params as Record<string, string | undefined>;
    const last = missingProperty ?? additionalProperty;
    const steps = [...error.instancePath.split('/').slice(1).map(unescaped), ...(last === undefined ? [] : [last])];
    const path = [root, ...steps.map((step) => step.slice(0, 100))].join('.');
    return { path, message: messageOf(error), property: steps[0] };
  });
}

// JSON Pointer, RFC 6901 section 3.
function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

function messageOf({ keyword, message }: ErrorObject): string {
  if (keyword === 'additionalProperties') return unknownName;
  if (keyword === 'required') return 'is required';
  return message ?? 'is not valid';
}
