import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { TSchema } from 'typebox';

import { AppError, type ErrorDetails } from '#core/errors/app-error';
import { formats } from '#core/http/formats';
import type { Route } from '#core/http/route';

const shared = {
  allErrors: false,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  ownProperties: true,
  formats,
} as const;

// Bodies are taken as they are: a number sent as text is a mistake to report, not to repair.
const exact = new Ajv({ ...shared, removeAdditional: false, coerceTypes: false, useDefaults: true });
// Everything in a URL is text, so numbers and booleans can only be read out of it.
const fromText = new Ajv({ ...shared, removeAdditional: false, coerceTypes: true, useDefaults: true });

/** Checks one request's parts against the route; defaults are filled in. */
export type RequestValidator = (parts: { params: unknown; query: unknown; body: unknown }) => void;

/** @throws AppError VALIDATION_ERROR with the place and the rule, never with the rejected value. */
export function createRequestValidator(route: Route): RequestValidator {
  const { params, query, body } = route.schema;
  const checks = [
    params === undefined ? undefined : { name: 'params' as const, validate: fromText.compile(asJsonSchema(params)) },
    query === undefined ? undefined : { name: 'query' as const, validate: fromText.compile(asJsonSchema(query)) },
    body === undefined ? undefined : { name: 'body' as const, validate: exact.compile(asJsonSchema(body)) },
  ].filter((check) => check !== undefined);
  const filterNames = Object.keys(query?.properties ?? {});
  return (parts) => {
    if (query !== undefined) acceptBothCases(parts.query as Record<string, unknown>, filterNames);
    for (const { name, validate } of checks) {
      if (!validate(parts[name])) throw validationError(name, validate);
    }
  };
}

/** A check of answers against their closed schema, for tests. */
export function compileExact(schema: TSchema): ValidateFunction {
  return exact.compile(asJsonSchema(schema));
}

// TypeBox keeps its own markers on the objects; Ajv's strict mode wants plain JSON Schema.
function asJsonSchema(schema: TSchema): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
}

function acceptBothCases(query: Record<string, unknown>, names: readonly string[]): void {
  for (const given of Object.keys(query)) {
    if (names.includes(given)) continue;
    const other = names.find((name) => foldCase(name) === foldCase(given));
    if (other !== undefined && query[other] === undefined) query[other] = query[given];
  }
}

function foldCase(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

function validationError(part: string, validate: ValidateFunction): AppError {
  const issues = (validate.errors ?? []).map((error) => ({
    path: pathOf(part, error),
    rule: error.keyword,
    message: messageOf(error),
  }));
  const [first] = issues;
  const message = first === undefined ? 'The request is not valid.' : `${first.path}: ${first.message}.`;
  return new AppError('VALIDATION_ERROR', message, { details: { issues } satisfies ErrorDetails });
}

function pathOf(part: string, error: ErrorObject): string {
  const { missingProperty, additionalProperty } = error.params as Record<string, string | undefined>;
  const steps = error.instancePath.split('/').slice(1);
  const last = missingProperty ?? (additionalProperty === undefined ? undefined : additionalProperty.slice(0, 100));
  return [part, ...steps, ...(last === undefined ? [] : [last])].join('.');
}

function messageOf(error: ErrorObject): string {
  if (error.keyword === 'additionalProperties') return 'is not a known property';
  if (error.keyword === 'required') return 'is required';
  if (error.keyword === 'enum') {
    const { allowedValues } = error.params as { allowedValues: unknown[] };
    return `must be one of ${allowedValues.join(', ')}`;
  }
  return error.message ?? 'is not valid';
}
