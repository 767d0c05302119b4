import fc from 'fast-check';
import Type from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { access } from '#core/base/access/access';
import { AppError } from '#core/base/errors/app-error';
import { closed } from '#core/base/schemas';
import { parseForm } from '#core/http/forms';
import { generateOpenApi } from '#core/http/openapi';
import { defineModule, defineRoute } from '#core/http/route';
import { createHttpServer } from '#core/http/server';
import { expectError, useService, type Answer } from '#test/support/harness';

const parse = (text: string) => parseForm(Buffer.from(text));

describe('parseForm', () => {
  it('reads names and values', () => {
    expect(parse('a=1&b=two+words&c=%C3%A4&d=')).toEqual({ a: '1', b: 'two words', c: 'ä', d: '' });
    expect(parse('')).toBeUndefined();
    expect(parse(Array.from({ length: 50 }, (_, at) => `f${at}=1`).join('&'))).toHaveProperty('f49');
  });

  it.each([
    ['a field twice', 'a=1&a=2'],
    ['a field twice in two spellings', 'a=1&%61=2'],
    ['51 fields', Array.from({ length: 51 }, (_, at) => `f${at}=1`).join('&')],
    ['NUL', 'a=%00'],
    ['a percent sign alone', 'a=%'],
    ['invalid UTF-8', 'a=%ff'],
    ['half of a surrogate pair', 'a=%ed%a0%80'],
  ])('refuses %s', (_what, text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(() => parseForm(Buffer.from([0x61, 0x3d, 0xff]))).toThrow(
      expect.objectContaining({ code: 'VALIDATION_ERROR' }),
    );
  });

  it('reads or refuses anything, and breaks at nothing', () => {
    const pieces = fc.array(
      fc.constantFrom('a', '=', '&', '%', '%4', '%41', '%00', '%ff', '+', ';', 'ä', '\0', '\ud800'),
    );
    const texts = fc.oneof(
      fc.uint8Array(),
      pieces.map((parts) => Buffer.from(parts.join(''))),
    );
    fc.assert(
      fc.property(texts, (bytes) => {
        try {
          const form = parseForm(Buffer.from(bytes));
          return form === undefined || Object.values(form).every((value) => value.isWellFormed());
        } catch (error) {
          return error instanceof AppError && error.status === 400;
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('gives no object a new prototype', () => {
    const form = parse('__proto__=1&constructor=2')!;
    expect(Object.getPrototypeOf(form)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['1']).toBeUndefined();
  });
});

describe('a route that takes a form and answers with a redirect', () => {
  const test = useService();
  const base = { access: access.public('planted'), audit: { none: 'planted' } } as const;
  const planted = defineModule({
    name: 'planted',
    description: 'Planted',
    routes: [
      defineRoute({
        ...base,
        method: 'POST',
        path: '/form',
        operationId: 'takeForm',
        summary: '',
        schema: { form: Type.Object({ to: Type.String({ maxLength: 100 }) }), response: { 302: null } },
        handler: ({ form }) => ({ location: `https://app.example.com/${form.to}` }),
      }),
      defineRoute({
        ...base,
        method: 'POST',
        path: '/json',
        operationId: 'takeJson',
        summary: '',
        schema: {
          body: closed({ to: Type.String({ maxLength: 100 }) }),
          response: { 200: closed({ to: Type.String() }) },
        },
        handler: ({ body }) => body,
      }),
    ],
  });
  let server: Awaited<ReturnType<typeof createHttpServer>>;

  beforeAll(async () => {
    const { services, authenticate } = test.service;
    server = await createHttpServer({
      modules: [planted],
      services,
      authenticate,
      trustedProxies: [],
      corsOrigins: [],
      bodyLimitBytes: 1_048_576,
    });
  });
  afterAll(() => server.close());

  const form = 'application/x-www-form-urlencoded';
  async function post(url: string, payload: string, contentType: string | undefined = form): Promise<Answer> {
    const headers = contentType === '' ? {} : { 'content-type': contentType };
    const {
      statusCode,
      headers: answered,
      payload: text,
    } = await server.inject({ method: 'POST', url, payload, headers });
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    return { status: statusCode, headers: answered as Answer['headers'], body, text };
  }

  it.each([form, `${form}; charset=utf-8`, `${form};charset=UTF-8`])('302: %s', async (contentType) => {
    const answer = await post('/form', 'to=there&more=ignored', contentType);
    expect({ status: answer.status, location: answer.headers.location, text: answer.text }).toEqual({
      status: 302,
      location: 'https://app.example.com/there',
      text: '',
    });
  });

  it('400: without what is required, with a value that does not fit, with nothing', async () => {
    for (const body of ['', 'more=1', `to=${'x'.repeat(101)}`, 'to=1&to=2', 'to=%00'])
      expectError(await post('/form', body), 400, 'VALIDATION_ERROR');
    expectError(await post('/form', '', ''), 400, 'VALIDATION_ERROR');
  });

  it.each(['application/json', 'text/plain', 'multipart/form-data; boundary=x', `${form}; charset=utf-16`, ''])(
    '415: %j',
    async (contentType) => {
      expectError(await post('/form', '{"to":"there"}', contentType), 415, 'UNSUPPORTED_MEDIA_TYPE');
    },
  );

  it('413: a form of more than 64 KiB', async () => {
    expect((await post('/form', `to=1&x=${'x'.repeat(65_529)}`)).status).toBe(302);
    expectError(await post('/form', `to=1&x=${'x'.repeat(65_530)}`), 413, 'PAYLOAD_TOO_LARGE');
  });

  it('415: a form where JSON is taken', async () => {
    expectError(await post('/json', 'to=there'), 415, 'UNSUPPORTED_MEDIA_TYPE');
    expect((await post('/json', '{"to":"there"}', 'application/json')).status).toBe(200);
  });

  it('405: with Allow for everything else', async () => {
    const answer = await server.inject({ method: 'GET', url: '/form' });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST']);
  });

  it('is described with both', () => {
    const { paths } = generateOpenApi([planted]) as { paths: Record<string, any> };
    const { requestBody, responses } = paths['/form'].post;
    expect(requestBody.content).toEqual({ [form]: { schema: expect.objectContaining({ required: ['to'] }) } });
    expect(responses['302'].headers.Location.schema).toEqual({ type: 'string', format: 'uri' });
    expect(responses['302']).not.toHaveProperty('content');
    expect(Object.keys(responses)).toContain('400');
  });
});
