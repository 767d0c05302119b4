import Type from 'typebox';
import { describe, expect, it } from 'vitest';

import { modules } from '#app/modules';
import { access } from '#core/base/access/access';
import { AppError } from '#core/base/errors/app-error';
import { FreeObject, IdParams, closed, nullable } from '#core/base/schemas';
import { generateOpenApi } from '#core/http/openapi';
import { defineRoute, type Route } from '#core/http/route';
import { createRequestValidator } from '#core/http/validation';
import {
  freeBodyObjects,
  freeObjects,
  namelessOperations,
  openBodies,
  openResponses,
  unboundedInputs,
  undescribed,
  unknownParams,
} from '#test/contract';
import { routes } from '#test/support/registry';

it('reads all operations', () => {
  expect(routes.length).toBeGreaterThan(30);
});

it('every object of an answer is closed, unless the specification leaves it open', () => {
  expect(openResponses(routes, freeObjects)).toEqual([]);
});

it('every object of a body is closed, unless the caller chooses its keys', () => {
  expect(openBodies(routes, freeBodyObjects)).toEqual([]);
});

it('every exception is still needed', () => {
  const open = [...openResponses(routes, {}), ...openBodies(routes, {})].join('\n');
  const titles = JSON.stringify(routes);
  const isUsed = (name: string) => open.includes(`${name}: `) || titles.includes(`"title":"${name}"`);
  expect([...Object.keys(freeObjects), ...Object.keys(freeBodyObjects)].filter((name) => !isUsed(name))).toEqual([]);
});

it('every public property and parameter has a description', () => {
  expect(
    undescribed(generateOpenApi(modules)),
    'give each a `description` in its schema; descriptions that many share are in core/http/property-descriptions.ts',
  ).toEqual([]);
  const planted = {
    paths: { '/a': { get: { parameters: [{ name: 'b' }] } } },
    components: { schemas: { C: { properties: { d: {} } } } },
  };
  expect(undescribed(planted)).toEqual(['/a?b', 'C.d']);
});

it('every text, list and number of a request is bounded', () => {
  expect(unboundedInputs(routes)).toEqual([]);
});

it('every schema of a request compiles; the service compiles it only at the first request', () => {
  const parts = ['params', 'query', 'body', 'form'] as const;
  for (const route of routes) {
    for (const part of parts) {
      const { [part]: schema, response } = route.schema;
      const hold = () => createRequestValidator({ ...route, schema: { [part]: schema, response } })({ ...nothing });
      expect(() => attempt(hold), `${part} of ${route.operationId}`).not.toThrow();
    }
  }
});

const nothing = { params: {}, query: {}, body: {}, form: {} };

function attempt(hold: () => void): void {
  try {
    hold();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}

it('every operation has a unique name, and an audit action if it changes something', () => {
  expect(namelessOperations(routes)).toEqual([]);
});

it('every parameter of a path has a schema', () => {
  expect(unknownParams(routes)).toEqual([]);
});

describe('the gate itself', () => {
  const base = {
    method: 'GET',
    path: '/planted',
    operationId: 'planted',
    summary: '',
    access: access.member(),
    handler: () => undefined,
  } as const;
  const answering = (schema: Route['schema']['response'][200]) =>
    defineRoute({ ...base, schema: { response: { 200: schema ?? null } } });
  const taking = (body: Route['schema']['body']) =>
    ({
      ...base,
      method: 'POST',
      errors: [],
      contentTypes: [],
      audit: 'planted.done',
      schema: { body, response: { 204: null } },
    }) as unknown as Route;

  it('finds an open object in an answer at any depth', () => {
    const deep = closed({ data: Type.Array(nullable(closed({ inner: Type.Object({ name: Type.String() }) }))) });
    expect(openResponses([answering(deep)], freeObjects)).toEqual(['planted 200.data[].inner: the object is open']);
    expect(openResponses([answering(FreeObject)], freeObjects)).toEqual(['planted 200: the object is open']);
    expect(openResponses([answering(closed({ properties: FreeObject }))], freeObjects)).toEqual([]);
  });

  it('finds an open object in a body', () => {
    expect(openBodies([taking(Type.Object({}))], freeBodyObjects)).toEqual(['planted body: the object is open']);
  });

  it.each([
    ['text', Type.String(), 'the text has no largest length'],
    ['text by format', Type.String({ format: 'email' }), 'the text has no largest length'],
    ['an open pattern', Type.String({ pattern: '^[a-z]+$' }), 'the text has no largest length'],
    ['a pattern that is not anchored', Type.String({ pattern: '[a-z]{2}' }), 'the text has no largest length'],
    ['a list', Type.Array(Type.Boolean()), 'the list has no largest length'],
    ['a number', Type.Number({ minimum: 0 }), 'the number has no range'],
    ['an integer', Type.Integer({ maximum: 5 }), 'the number has no range'],
  ])('finds %s without bounds', (_what, schema, sentence) => {
    const body = closed({ value: Type.Optional(nullable(schema)) });
    expect(unboundedInputs([taking(body)])).toEqual([`planted body.value: ${sentence}`]);
  });

  it('accepts input that is bounded in another way', () => {
    const body = closed({
      id: Type.String({ format: 'uuid' }),
      language: Type.String({ pattern: '^[a-z]{2}$' }),
      kind: Type.Enum(['a', 'b']),
      count: Type.Integer({ minimum: 0, maximum: 9 }),
      tags: Type.Array(Type.String({ maxLength: 10 }), { maxItems: 3 }),
    });
    expect(unboundedInputs([taking(body)])).toEqual([]);
  });

  it('finds a duplicate name, a duplicate route and a change without audit', () => {
    const silent = { ...taking(closed({})), audit: undefined };
    expect(namelessOperations([answering(null), silent])).toEqual([
      'planted is the name of two operations',
      'planted is not audited',
    ]);
    const twice = { ...answering(null), operationId: 'other' };
    expect(namelessOperations([answering(null), twice])).toEqual(['GET /planted is routed twice']);
    expect(() => defineRoute({ ...base, method: 'DELETE', schema: { response: { 204: null } } })).toThrow(/audit/);
  });

  it('finds a parameter without a schema, and a schema without a parameter', () => {
    expect(unknownParams([{ ...answering(null), path: '/planted/{id}' }])).toEqual(['planted: {id} has no schema']);
    const schema = { params: IdParams, response: { 200: null } };
    expect(unknownParams([{ ...answering(null), schema }])).toEqual(['planted: id is not in the path']);
  });
});
