import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { modules } from '#app/modules';
import type { Person } from '#core/base/access/principal';
import { AppError, type ErrorCode } from '#core/base/errors/app-error';
import { toAppError } from '#core/http/error-body';
import {
  outcomeOf,
  payloadText,
  readIdempotencyKey,
  scopeText,
  takesIdempotencyKey,
} from '#core/http/idempotency/idempotency.rules';
import type { Route } from '#core/http/route';
import { routeOf } from '#test/support/registry';

const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 255,
});
const quote = (key: string) => `"${key.replaceAll(/["\\]/g, '\\$&')}"`;

describe('readIdempotencyKey', () => {
  it('takes 1 to 255 visible characters', () => {
    fc.assert(
      fc.property(
        visible.filter((key) => !key.startsWith('"')),
        (key) => readIdempotencyKey(key) === key,
      ),
    );
  });

  it('takes a quoted string for what stands in it', () => {
    fc.assert(fc.property(visible, (key) => readIdempotencyKey(quote(key)) === key));
  });

  it.each([
    '',
    ' ',
    'a b',
    'a, b',
    'é',
    'a\tb',
    '"',
    '""',
    '"a',
    '"a"b"',
    '"a\\b"',
    '"a b"',
    'x'.repeat(256),
    quote('x'.repeat(256)),
  ])('refuses %j', (header) => {
    expect(() => readIdempotencyKey(header)).toThrow('1 to 255 visible');
  });
});

describe('takesIdempotencyKey', () => {
  const all = modules.flatMap(({ routes }) => routes);
  const named = (take: (route: Route) => boolean) => all.filter(take).map(({ operationId }) => operationId);

  it('is true for POST of one tenant with JSON', () => {
    expect(named(takesIdempotencyKey)).toEqual(
      expect.arrayContaining(['createContact', 'createApiKey', 'changePassword', 'runScheduledJob', 'rotateApiKey']),
    );
  });

  it('is false for operations without side effects, whose answers have no size limit', () => {
    const routes = all.filter(({ method, audit }) => method === 'POST' && typeof audit !== 'string');
    expect(routes.map(({ operationId }) => operationId)).toContain('translateText');
    expect(routes.filter(takesIdempotencyKey)).toEqual([]);
  });

  it('is false for other methods, public routes, the dispatcher, the MCP endpoint and routes without JSON', () => {
    const others = named((route) => !takesIdempotencyKey(route));
    expect(others).toEqual(expect.arrayContaining(['login', 'logout', 'runDispatcher', 'uploadFile', 'updateContact']));
    expect(all.filter((route) => route.path === '/mcp').some(takesIdempotencyKey)).toBe(false);
    const route = routeOf('createContact');
    expect(takesIdempotencyKey({ ...route, hasBriefErrors: true })).toBe(false);
    expect(takesIdempotencyKey({ ...route, hasRpcErrors: true })).toBe(false);
  });
});

describe('what a key belongs to', () => {
  const person = (id: string, sessionId = 'session') => ({ kind: 'user', id, sessionId }) as Person;
  const scope = (operationId: string, who = person('ada'), params?: unknown, key = 'key') =>
    scopeText(routeOf(operationId), who, params, key);

  it('is the caller, the operation, the record and the key', () => {
    const scopes = [
      scope('createContact'),
      scope('createContact', person('eve')),
      scope('createSpace'),
      scope('createContact', person('ada'), { id: '1' }),
      scope('createContact', person('ada'), undefined, 'other'),
    ];
    expect(new Set(scopes).size).toBe(scopes.length);
    expect(scope('createContact', person('ada', 'another'))).toBe(scope('createContact'));
  });

  it('includes the session on routes of one account', () => {
    expect(scope('changePassword', person('ada', 'another'))).not.toBe(scope('changePassword'));
  });
});

describe('what is the same payload', () => {
  it('depends on neither the order of members nor on how an empty one is written', () => {
    const one = payloadText({ params: {}, query: { a: '1', b: '2' }, body: { x: { p: 1, q: [1, 2] }, y: null } });
    expect(payloadText({ params: {}, query: { b: '2', a: '1' }, body: { y: null, x: { q: [1, 2], p: 1 } } })).toBe(one);
    expect(payloadText({ params: {}, query: { a: '1', b: '2' }, body: { x: { p: 1, q: [2, 1] }, y: null } })).not.toBe(
      one,
    );
    expect(payloadText({ params: {}, query: undefined, body: undefined })).toBe('[null,null]');
  });
});

describe('the outcome of a key whose request failed', () => {
  const sideEffects = { nothing: [false, false], counters: [true, false], changes: [true, true] } as const;
  const outcome = (error: unknown, [written, changed]: readonly [boolean, boolean]) =>
    outcomeOf(toAppError(error, {}), error, { mayHaveWritten: () => written, mayHaveChanged: () => changed });
  const refused = (code: ErrorCode, cause?: unknown) => new AppError(code, 'refused', { cause });
  const interrupted = Object.assign(new Error('terminating'), { code: '57P01' });

  it.each(['NOT_FOUND', 'CONFLICT', 'UNPROCESSABLE_ENTITY', 'PRECONDITION_FAILED'] as const)('%s is stored', (code) => {
    for (const done of Object.values(sideEffects)) expect(outcome(refused(code), done)).toBe('stored');
  });

  it.each(['RATE_LIMIT_EXCEEDED', 'SERVICE_UNAVAILABLE', 'UPSTREAM_ERROR'] as const)(
    '%s is released unless something was changed',
    (code) => {
      expect(outcome(refused(code), sideEffects.nothing)).toBe('released');
      expect(outcome(refused(code), sideEffects.counters)).toBe('released');
      expect(outcome(refused(code), sideEffects.changes)).toBe('unknown');
    },
  );

  it.each(['VALIDATION_ERROR', 'AUTHENTICATION_ERROR', 'AUTHORIZATION_ERROR'] as const)(
    '%s is released, but stored if something was changed',
    (code) => {
      expect(outcome(refused(code), sideEffects.counters)).toBe('released');
      expect(outcome(refused(code), sideEffects.changes)).toBe('stored');
    },
  );

  it('a refusal with Retry-After is released, with any status', () => {
    const later = new AppError('UNPROCESSABLE_ENTITY', 'refused', { retryAfterSeconds: 30 });
    expect(outcome(later, sideEffects.counters)).toBe('released');
    expect(outcome(later, sideEffects.changes)).toBe('stored');
  });

  it.each([
    ['a fault of ours', new TypeError('undefined is not a function')],
    ['a lost connection', interrupted],
    ['a lost connection behind an AppError', refused('SERVICE_UNAVAILABLE', interrupted)],
  ])('%s is released only where nothing at all was written', (_what, error) => {
    expect(outcome(error, sideEffects.nothing)).toBe('released');
    expect(outcome(error, sideEffects.counters)).toBe('unknown');
    expect(outcome(error, sideEffects.changes)).toBe('unknown');
  });
});
