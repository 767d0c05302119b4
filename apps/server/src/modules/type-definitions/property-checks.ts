import { Ajv, type ValidateFunction } from 'ajv';

import { ipVersion } from '#core/base/net/addresses';
import { formats } from '#core/http/formats';
import {
  findIgnored,
  schemaLimits,
  sizeOf,
  type JsonSchema,
  type PlacedError,
} from '#modules/type-definitions/json-schemas.rules';
import { prepareEvaluation } from '#modules/type-definitions/schema-evaluation.rules';

/** Returns the errors of the properties; empty if they match. */
export type PropertyCheck = (properties: Record<string, unknown>) => PlacedError[];

const maxErrors = 20;

// A date is valid if its midnight is a valid date-time.
const isDate = (text: string) => text.length === 10 && formats['date-time']!(`${text}T00:00:00Z`);

const propertyFormats = {
  date: isDate,
  'date-time': formats['date-time']!,
  email: formats.email!,
  ipv4: (text: string) => ipVersion(text) === 4,
  ipv6: (text: string) => ipVersion(text) === 6,
  uri: formats['web-uri']!,
  uuid: formats.uuid!,
};

const count = { type: 'integer', minimum: 0, maximum: 1_000_000 };
const number = { type: 'number' };
const scalar = { type: ['string', 'number', 'boolean', 'null'], maxLength: 500 };
const inner = { $ref: '#/$defs/schema' };
const schemaList = { type: 'array', minItems: 1, maxItems: 50, items: inner };
const types = { enum: ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] };

/**
 * The supported keywords: those on which draft-07 and 2020-12 agree. References are left out because they can recurse without
 * end, and patterns because their evaluation time cannot be bounded.
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
  anyOf: schemaList,
  oneOf: schemaList,
  allOf: schemaList,
  ...Object.fromEntries(['not', 'if', 'then', 'else'].map((name) => [name, inner])),
};

let schemaCheck: ValidateFunction | undefined;

/** Created lazily: it is large, and most processes check no schema. */
function makeSchemaCheck(): ValidateFunction {
  const options = { strict: true, strictTypes: false, ownProperties: true, allErrors: true, validateSchema: false };
  return new Ajv({ ...options, allowUnionTypes: true }).compile({
    allOf: [{ $ref: '#/$defs/schema' }, { type: 'object', properties: { type: { const: 'object' } } }],
    $defs: { schema: { type: ['object', 'boolean'], properties: keywords, additionalProperties: false } },
  });
}

/** Returns the reasons why a JSON Schema cannot be the schema of a type; empty for a valid one. */
export function findSchemaErrors(schema: Record<string, unknown>): PlacedError[] {
  const problem = (message: string) => [{ path: 'json_schema', message, property: undefined }];
  schemaCheck ??= makeSchemaCheck();
  if (!schemaCheck(schema)) {
    return schemaCheck.errors!.slice(0, maxErrors).map((error) => {
      const { additionalProperty } = error.params as Record<string, string | undefined>;
      const steps = error.instancePath.split('/').slice(1).map(unescaped);
      if (additionalProperty === undefined) return placed('json_schema', steps, error.message ?? 'is not valid');
      return placed('json_schema', [...steps, additionalProperty], 'is not a supported keyword');
    });
  }
  const { subschemas, depth } = sizeOf(schema);
  if (subschemas > schemaLimits.subschemas) {
    return problem(`must not have more than ${schemaLimits.subschemas} schemas within it`);
  }
  if (depth > schemaLimits.depth) return problem(`must not be more than ${schemaLimits.depth} schemas deep`);
  const ignored = findIgnored(schema);
  return ignored === undefined ? [] : problem(ignored);
}

/** @param schema a schema without errors (see `findSchemaErrors`). */
export function createPropertyCheck(schema: JsonSchema): PropertyCheck {
  const evaluate = prepareEvaluation(schema, { steps: schemaLimits.steps, errors: maxErrors }, propertyFormats);
  return (properties) => {
    const errors = evaluate(properties);
    if (errors === undefined) {
      return [{ path: 'properties', message: 'have too many values to check', property: undefined }];
    }
    return errors.map(({ steps, message }) => placed('properties', steps, message));
  };
}

function placed(root: string, steps: string[], message: string): PlacedError {
  return { path: [root, ...steps.map((step) => step.slice(0, 100))].join('.'), message, property: steps[0] };
}

// JSON Pointer, RFC 6901 section 3.
function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}
