import { Ajv, str, type ErrorObject, type ValidateFunction } from 'ajv';
import type { TSchema } from 'typebox';

import { AppError, type ErrorDetails } from '#core/base/errors/app-error';
import { jsonBytesKeyword } from '#core/base/schemas';
import { formats } from '#core/http/formats';
import { jsonBytes } from '#core/http/json';
import type { Route } from '#core/http/route';
import { fieldSpellings, idFolding } from '#core/http/spellings';

const shared = {
  allErrors: false,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  ownProperties: true,
  // They are what TypeBox makes; to check that against the schema of schemas takes longer than to compile it.
  validateSchema: false,
  formats,
} as const;

// Bodies are taken as they are: a number sent as text is a mistake to report, not to repair.
const exact = new Ajv({ ...shared, removeAdditional: false, coerceTypes: false, useDefaults: true });
// Everything in a URL is text, so numbers and booleans can only be read out of it.
const fromText = new Ajv({
  ...shared,
  removeAdditional: false,
  coerceTypes: true,
  useDefaults: true,
  // Strictly, Ajv holds only finite numbers against their range, and "1e400" would get by as Infinity.
  strictNumbers: false,
});

for (const ajv of [exact, fromText]) {
  ajv.addKeyword({
    keyword: jsonBytesKeyword,
    schemaType: 'number',
    validate: (limit: number, value: unknown) => jsonBytes(value) <= limit,
    error: { message: ({ schemaCode }) => str`must be at most ${schemaCode} bytes as JSON` },
  });
}

/** Checks one request's parts against the route; defaults are filled in, names and ids get the one spelling that we use. */
export type RequestValidator = (parts: Record<Part, unknown>) => void;

type Part = 'params' | 'query' | 'body' | 'form';
type Check = { name: Part; validator: () => ValidateFunction; foldIds: (value: unknown) => unknown };

/**
 * With `isTyped`, params and query do not come out of a URL, but have types already.
 * @throws AppError VALIDATION_ERROR with the place and the rule, never with the rejected value.
 */
export function createRequestValidator(route: Route, { isTyped = false } = {}): RequestValidator {
  const { params, query, body, form } = route.schema;
  const ofUrl = isTyped ? exact : fromText;
  const checks = [
    check('params', params, ofUrl),
    check('query', query, ofUrl),
    check('body', body, exact),
    check('form', form, exact),
  ].filter((one) => one !== undefined);
  const respell = fieldSpellings(query);
  return (parts) => {
    respell(parts.query as Record<string, unknown>);
    for (const { name, validator, foldIds } of checks) {
      const validate = validator();
      if (!validate(parts[name])) throw validationError(name, validate);
      foldIds(parts[name]);
    }
  };
}

function check(name: Check['name'], schema: TSchema | undefined, ajv: Ajv): Check | undefined {
  if (schema === undefined) return undefined;
  return { name, validator: lazily(ajv, schema), foldIds: idFolding(schema) };
}

const compiled = new Map([exact, fromText].map((ajv) => [ajv, new WeakMap<TSchema, ValidateFunction>()]));

/** Compiled with the first request: all of them together would take longer than the rest of a start. */
function lazily(ajv: Ajv, schema: TSchema): () => ValidateFunction {
  const known = compiled.get(ajv)!;
  return () => {
    let validate = known.get(schema);
    if (validate === undefined) known.set(schema, (validate = ajv.compile(asJsonSchema(schema))));
    return validate;
  };
}

/** The first thing that is wrong with a value; the place begins with a dot, or is empty. */
type SchemaViolation = { path: string; message: string };

/** Checks values from outside of requests against their schema: undefined if they are valid. */
export function createCheck(schema: TSchema): (value: unknown) => SchemaViolation | undefined {
  const validator = lazily(exact, schema);
  return (value) => {
    const validate = validator();
    if (validate(value)) return undefined;
    const error = validate.errors![0]!;
    return { path: pathOf(error), message: messageOf(error) };
  };
}

// TypeBox keeps its own markers on the objects; Ajv's strict mode wants plain JSON Schema.
function asJsonSchema(schema: TSchema): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
}

function validationError(part: string, validate: ValidateFunction): AppError {
  const issues = (validate.errors ?? []).map((error) => ({
    path: `${part}${pathOf(error)}`,
    rule: error.keyword,
    message: messageOf(error),
  }));
  const [first] = issues;
  const message = first === undefined ? 'The request is not valid.' : `${first.path}: ${first.message}.`;
  return new AppError('VALIDATION_ERROR', message, { details: { issues } satisfies ErrorDetails });
}

/** A missing or unknown property is where the mistake is, and not what it is missing or unknown in. */
function pathOf(error: ErrorObject): string {
  const { missingProperty, additionalProperty } = error.params as Record<string, string | undefined>;
  const last = missingProperty ?? additionalProperty?.slice(0, 100);
  return error.instancePath.replaceAll('/', '.') + (last === undefined ? '' : `.${last}`);
}

/** The requirement of the rule, without the invalid value. */
function messageOf(error: ErrorObject): string {
  if (error.keyword === 'additionalProperties') return 'is not a known property';
  if (error.keyword === 'required') return 'is required';
  if (error.keyword === 'enum') {
    const { allowedValues } = error.params as { allowedValues: unknown[] };
    return `must be one of ${allowedValues.join(', ')}`;
  }
  if (error.keyword === 'uniqueItems') return 'must not list anything twice';
  if (error.params['format'] === 'ip-range')
    return 'must be an IP address or a range without host bits, such as 10.0.0.0/8';
  return error.message ?? 'is not valid';
}
