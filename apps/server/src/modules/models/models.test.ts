import { beforeEach, describe, expect, it } from 'vitest';

import { modelhubFake } from '#modules/connectors/models/adapters/modelhub/testing/fake';
import { entry, provideModels, url } from '#modules/models/testing/catalogs';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService({ environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
let tenant: Tenant;

beforeEach(async () => {
  tenant = await createTenant(test);
});

const list = (query = '', token = tenant.admin.token) => test.call('GET', `${url}${query}`, { token });
const estimate = (body: unknown, token = tenant.admin.token) => test.call('POST', `${url}/estimate`, { token, body });
const provide = () => provideModels(test, tenant.admin.token);
const idsOf = async (query: string) =>
  (await list(query)).body.data.models.map(({ id }: { id: string }) => id) as string[];

describe('listModels', () => {
  const writer = {
    id: 'acme/writer-2',
    name: 'Acme: Writer 2',
    description: 'Writes.\nÄ € 👩‍👩‍👧',
    context_length: 131_072,
    prompt_price: '0.00000015',
    completion_price: '0.00000060',
    image_price: '0.000217',
    request_price: '0',
    is_free: false,
  };
  const painter = {
    id: 'acme/painter:free',
    name: 'Acme: Painter (free)',
    description: 'Paints and writes.',
    context_length: 32_768,
    prompt_price: '0',
    completion_price: '0',
    image_price: '0',
    request_price: '0',
    is_free: true,
  };
  const router = {
    id: 'router/auto',
    name: 'Router: Auto',
    description: '',
    context_length: 2_000_000,
    prompt_price: null,
    completion_price: null,
    image_price: null,
    request_price: null,
    is_free: false,
  };

  it('200: models that generate text, by name, with the age of the list', async () => {
    await provide();
    const answer = await list();
    expect(answer).toMatchObject({ status: 200, headers: { age: '0' } });
    expect(answer.body).toEqual({ data: { task: 'text', total: 3, models: [painter, writer, router] } });
    expect((await list('?task=text')).body).toEqual(answer.body);
  });

  it('200: models that generate images', async () => {
    await provide();
    expect((await list('?task=image')).body).toEqual({ data: { task: 'image', total: 1, models: [painter] } });
  });

  it('200: an empty list if the provider has no models', async () => {
    (await provide()).list([]);
    expect((await list()).body).toEqual({ data: { task: 'text', total: 0, models: [] } });
  });

  it('200: for a member with the permission', async () => {
    await provide();
    const { token } = await createMember(test, tenant, { permissions: ['integrations.read'] });
    expect((await list('', token)).body.data.total).toBe(3);
  });

  it.each([
    ['?search=acme', ['acme/painter:free', 'acme/writer-2']],
    ['?search=WRITER%20acme', ['acme/writer-2']],
    ['?search=auto', ['router/auto']],
    ['?search=%25', []],
    ['?min_context=131072', ['acme/writer-2', 'router/auto']],
    ['?minContext=131073', ['router/auto']],
    ['?free=true', ['acme/painter:free']],
    ['?free=false', ['acme/writer-2', 'router/auto']],
    ['?sort=-name', ['router/auto', 'acme/writer-2', 'acme/painter:free']],
    // The price of the last one is unknown, so it comes last in both orders.
    ['?sort=price', ['acme/painter:free', 'acme/writer-2', 'router/auto']],
    ['?sort=-price', ['acme/writer-2', 'acme/painter:free', 'router/auto']],
    ['?sort=contextLength', ['acme/painter:free', 'acme/writer-2', 'router/auto']],
    ['?sort=-context_length', ['router/auto', 'acme/writer-2', 'acme/painter:free']],
    ['?search=acme&free=true&sort=price&limit=5', ['acme/painter:free']],
  ])('200: %s', async (query, ids) => {
    await provide();
    expect(await idsOf(query)).toEqual(ids);
  });

  it('200: all models, or the requested page; the total counts all matches', async () => {
    const many = Array.from({ length: 500 }, (_, at) => entry(`acme/${String(at).padStart(3, '0')}`));
    (await provide()).list(many);
    expect(await idsOf('')).toEqual(many.map(({ id }) => id));
    const page = await list('?limit=2&offset=498&search=acme');
    expect(page.body.data).toMatchObject({ total: 500, models: [{ id: 'acme/498' }, { id: 'acme/499' }] });
    expect((await list('?offset=499')).body.data).toMatchObject({ total: 500, models: [{ id: 'acme/499' }] });
    expect((await list('?offset=500')).body.data).toMatchObject({ total: 500, models: [] });
  });

  it('200: 5,000 models', async () => {
    const many = Array.from({ length: 5000 }, (_, at) => entry(`acme/${String(at).padStart(4, '0')}`));
    (await provide()).list(many);
    const { data } = (await list()).body;
    expect([data.total, data.models.length, data.models[4999].id]).toEqual([5000, 5000, 'acme/4999']);
  });

  it.each([
    ['?task=video'],
    ['?task='],
    ['?task=text&task=image'],
    ['?limit=0'],
    ['?limit=201'],
    ['?offset=-1'],
    ['?min_context=0'],
    ['?min_context=x'],
    ['?free=maybe'],
    ['?sort=id'],
    [`?search=${'x'.repeat(201)}`],
  ])('400: %s', async (query) => {
    expectError(await list(query), 400, 'VALIDATION_ERROR');
  });

  it('403: a member without the permission', async () => {
    const { token } = await createMember(test, tenant, { permissions: ['integrations.manage'] });
    expectError(await list('', token), 403, 'AUTHORIZATION_ERROR');
  });

  it('422: the provider refuses the task; the list of the other task is available', async () => {
    const hub = await provide();
    const isOfImages = ({ search }: URL) => search.includes('image');
    hub.say((asked) => (isOfImages(asked.url) ? { status: 400, body: 'canary' } : modelhubFake.respond(asked)));
    for (let count = 0; count < 2; count++)
      expectError(await list('?task=image'), 422, 'UNPROCESSABLE_ENTITY', 'REFUSED_BY_PROVIDERS');
    expect((await list('?task=text')).status).toBe(200);
  });

  it('502: the provider fails without a stored list; 200 after it recovers', async () => {
    const hub = await provide();
    hub.say(() => ({ status: 200, body: 'canary' }));
    const answer = await list();
    expectError(answer, 502, 'UPSTREAM_ERROR');
    expect(answer.text).not.toMatch(/canary|127\.0\.0\.1/);
    hub.say(undefined);
    expect((await list()).body.data.total).toBe(3);
  });

  it('503: no connector lists models', async () => {
    expectError(await list(), 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
  });
});

describe('estimateModelCost', () => {
  const costs = async (body: object) => {
    const answer = await estimate(body);
    expect(answer.status).toBe(200);
    return answer.body.data;
  };

  it('200: the exact cost of a request', async () => {
    await provide();
    expect(await costs({ model_id: 'acme/writer-2', characters: 4001, expected_output_characters: 800 })).toEqual({
      model_id: 'acme/writer-2',
      prompt_cost: '0.00015015',
      completion_cost: '0.00012',
      total_cost: '0.00027015',
      currency: 'USD',
    });
  });

  it('200: the price per request counts once', async () => {
    (await provide()).list([entry('a', { pricing: { prompt: '0.1', completion: '0.2', request: '5' } })]);
    expect(await costs({ model_id: 'a', characters: 0, expected_output_characters: 0 })).toMatchObject({
      prompt_cost: '0',
      completion_cost: '0',
      total_cost: '5',
    });
  });

  it.each([
    ['the price is unknown', { model_id: 'router/auto', expected_output_characters: 10 }, null, null],
    ['the length of the answer is unknown', { model_id: 'acme/writer-2' }, '0.000375', null],
  ])('200: null if %s', async (_what, body, prompt, completion) => {
    await provide();
    const expected = { prompt_cost: prompt, completion_cost: completion, total_cost: null };
    expect(await costs({ characters: 10_000, ...body })).toMatchObject(expected);
  });

  it('200: with the prices in the list of the task', async () => {
    const hub = await provide();
    const body = { model_id: 'acme/painter:free', task: 'image', characters: 100, expected_output_characters: 100 };
    expect(await costs(body)).toMatchObject({ prompt_cost: '0', completion_cost: '0', total_cost: '0' });
    expect(hub.asked.map(({ url: asked }) => asked.searchParams.get('output_modalities'))).toEqual(['image']);
  });

  it.each([
    [{}],
    [{ model_id: 'a' }],
    [{ characters: 1 }],
    [{ model_id: '', characters: 1 }],
    [{ model_id: 'x'.repeat(201), characters: 1 }],
    [{ model_id: 'a', characters: -1 }],
    [{ model_id: 'a', characters: 1.5 }],
    [{ model_id: 'a', characters: 1_000_000_001 }],
    [{ model_id: 'a', characters: 1, expected_output_characters: null }],
    [{ model_id: 'a', characters: 1, task: 'video' }],
    [{ model_id: 'a', characters: 1, tokens: 1 }],
  ])('400: %j', async (body) => {
    expectError(await estimate(body), 400, 'VALIDATION_ERROR');
  });

  it('403: a member without the permission', async () => {
    const { token } = await createMember(test, tenant);
    expectError(await estimate({ model_id: 'a', characters: 1 }, token), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: a model that is not in the list', async () => {
    await provide();
    expectError(await estimate({ model_id: 'acme/unknown', characters: 1 }), 404, 'NOT_FOUND');
  });

  it('503: no connector lists models', async () => {
    expectError(await estimate({ model_id: 'a', characters: 1 }), 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
  });
});
