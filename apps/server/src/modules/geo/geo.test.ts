import { beforeEach, describe, expect, it } from 'vitest';

import { nominatimFake } from '#modules/connectors/geocoding/adapters/nominatim/testing/fake';
import { createConnector } from '#modules/connectors/testing/connectors';
import { serveProvider, type ProviderServer } from '#modules/connectors/testing/provider-server';
import { createAppAccount, createMember, createTenant, logIn, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService({ environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
let tenant: Tenant;

beforeEach(async () => {
  tenant = await createTenant(test);
});

async function provide(by = tenant): Promise<ProviderServer & { key: string }> {
  const provider = await serveProvider(nominatimFake.respond);
  const { api_key: key } = await createConnector(test, by.admin.token, {
    category: 'integration',
    api_base_url: `${provider.origin}${nominatimFake.basePath}`,
    config: { adapter: 'nominatim', ...nominatimFake.config },
  });
  return { ...provider, key };
}

const own = (): Call => ({ token: tenant.admin.token });
const found = 'q=Stephansplatz%203%20%26%20Wien&limit=2&language=de';
const there = 'lat=48.2085&lng=16.373&language=de';
const search = (query: string, call = own()) => test.call('GET', `/api/v1/secure/geo/search?${query}`, call);
const reverse = (query: string, call = own()) => test.call('GET', `/api/v1/secure/geo/reverse?${query}`, call);
const place = (provider: string) => ({
  name: 'Domkirche St. Stephan, 3, Stephansplatz, Innere Stadt, Wien, 1010, Österreich',
  lat: 48.2084905,
  lng: 16.3729532,
  type: 'place_of_worship',
  address: {
    street: 'Stephansplatz',
    house_number: '3',
    postcode: '1010',
    city: 'Wien',
    region: 'Wien',
    country: 'Österreich',
    country_code: 'AT',
  },
  provider,
});

/** An API key of the tenant with these geo flags. */
async function keyWith(geo: Record<string, boolean>): Promise<Call> {
  const body = { name: 'Map', permissions: { geo } };
  const created = await test.call('POST', '/api/v1/secure/api-keys', { ...own(), body });
  return { headers: { 'x-api-key': created.body.fullKey } };
}

describe('searchPlaces', () => {
  it('200: places that match a text', async () => {
    const { key } = await provide();
    const answer = await search(found);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ data: [place(key)] });
  });

  it('200: an empty list', async () => {
    await provide();
    expect((await search('q=nowhere%20at%20all')).body).toEqual({ data: [] });
  });

  it('200: requests ten places in the language of the place by default', async () => {
    const { asked } = await provide();
    await search('q=%20somewhere%20');
    const { searchParams } = asked[0]!.url;
    expect([searchParams.get('q'), searchParams.get('limit'), searchParams.has('accept-language')]).toEqual([
      'somewhere',
      '10',
      false,
    ]);
  });

  it('200: null for values that the provider does not return', async () => {
    const provider = await provide();
    provider.say(() => ({ status: 200, body: [{ display_name: 'Somewhere', lat: 0, lon: 0 }] }));
    expect((await search('q=x')).body.data[0]).toMatchObject({
      type: null,
      address: { street: null, house_number: null, postcode: null, city: null, region: null, country: null },
    });
  });

  it.each([
    [''],
    ['q='],
    ['q=%20%20'],
    [`q=${'x'.repeat(201)}`],
    ['q=a&q=b'],
    ['q=x&limit=0'],
    ['q=x&limit=21'],
    ['q=x&limit=1.5'],
    ['q=x&language=deu'],
    ['q=x&language=DE'],
    ['q=x&language='],
  ])('400: %s', async (query) => {
    const { asked } = await provide();
    expectError(await search(query), 400, 'VALIDATION_ERROR');
    expect(asked).toEqual([]);
  });

  it('403: a key or an app account without the flag; 200 with it', async () => {
    await provide();
    const app = await createAppAccount(test, tenant, { permissions: { geo: { geocode: true } } });
    const { token } = await logIn(test, { ...app, tenantId: tenant.tenantId });
    expect((await search(found, { token })).status).toBe(200);
    expectError(await reverse(there, { token }), 403, 'AUTHORIZATION_ERROR');
    expect((await search(found, await keyWith({ geocode: true }))).status).toBe(200);
    expectError(await search(found, await keyWith({ reverse_geocode: true })), 403, 'AUTHORIZATION_ERROR');
  });

  it('429: one caller above 60 requests a minute; other callers are not limited', async () => {
    const { asked } = await provide();
    const { token } = await createMember(test, tenant);
    const answers = await Promise.all(Array.from({ length: 70 }, () => search(found, { token })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(10);
    expectError(refused[0]!, 429, 'RATE_LIMIT_EXCEEDED');
    expect(Number(refused[0]!.headers['retry-after'])).toBeGreaterThan(0);
    expect(asked).toHaveLength(60);
    expect((await search(found)).status).toBe(200);
    expect((await reverse(there, { token })).status).toBe(429);
  });

  it('422: the provider rejects the text', async () => {
    const provider = await provide();
    provider.say(() => ({ status: 400, body: 'canary' }));
    const answer = await search(found);
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'REFUSED_BY_PROVIDERS');
    expect(answer.text).not.toContain('canary');
  });

  it('502: the provider fails; the answer contains no details', async () => {
    const provider = await provide();
    provider.say(() => ({ status: 200, body: 'canary' }));
    const answer = await search(found);
    expectError(answer, 502, 'UPSTREAM_ERROR');
    expect(answer.text).not.toMatch(/canary|127\.0\.0\.1|nominatim/);
  });

  it('503: no connector in the tenant, although another tenant has one', async () => {
    await provide(await createTenant(test));
    expectError(await search(found), 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
  });
});

describe('findPlaceAt', () => {
  it('200: the place at the coordinates', async () => {
    const { key } = await provide();
    const answer = await reverse(there);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ data: place(key) });
  });

  it('200: null if there is no place', async () => {
    await provide();
    expect((await reverse('lat=0&lng=0')).body).toEqual({ data: null });
  });

  it.each(['lat=90&lng=180', 'lat=-90&lng=-180', 'lat=-0&lng=0.0000001'])('200: %s', async (query) => {
    await provide();
    expect((await reverse(query)).status).toBe(200);
  });

  it.each([
    [''],
    ['lat=1'],
    ['lng=1'],
    ['lat=90.1&lng=0'],
    ['lat=-90.1&lng=0'],
    ['lat=0&lng=180.1'],
    ['lat=0&lng=-180.1'],
    ['lat=north&lng=0'],
    ['lat=NaN&lng=0'],
    ['lat=&lng=0'],
    ['lat=0&lng=0&language=x'],
  ])('400: %s', async (query) => {
    const { asked } = await provide();
    expectError(await reverse(query), 400, 'VALIDATION_ERROR');
    expect(asked).toEqual([]);
  });

  it('403: a key without the flag; 200 with it', async () => {
    await provide();
    expect((await reverse(there, await keyWith({ reverse_geocode: true }))).status).toBe(200);
    expectError(await reverse(there, await keyWith({ geocode: true })), 403, 'AUTHORIZATION_ERROR');
  });

  it('422: the provider rejects the coordinates', async () => {
    const provider = await provide();
    provider.say(() => ({ status: 422, body: {} }));
    expectError(await reverse(there), 422, 'UNPROCESSABLE_ENTITY', 'REFUSED_BY_PROVIDERS');
  });

  it('502: the provider fails', async () => {
    const provider = await provide();
    provider.say(() => ({ status: 200, body: '{}' }));
    expectError(await reverse(there), 502, 'UPSTREAM_ERROR');
  });

  it('503: no connector can perform the lookup', async () => {
    expectError(await reverse(there), 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
  });
});
