import { beforeEach, describe, expect, it } from 'vitest';

import { adapterOf, adapters } from '#modules/connectors/geocoding/adapters/adapters';
import { nominatimFake } from '#modules/connectors/geocoding/adapters/nominatim/testing/fake';
import type { GeocodingFake } from '#modules/connectors/geocoding/adapters/testing/fake';
import { findPlaceAt, searchPlaces } from '#modules/connectors/geocoding/geocoding.service';
import { createConnector } from '#modules/connectors/testing/connectors';
import { serveProvider } from '#modules/connectors/testing/provider-server';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
const fakes: readonly GeocodingFake[] = [nominatimFake];
const failed = { status: 502, code: 'UPSTREAM_ERROR' };

it('every adapter is tested against this contract with a fake', () => {
  const tested = fakes.map((fake) => fake.adapter).toSorted();
  expect(tested, 'adapters that `fakes` of this file has a fake of').toEqual(Object.keys(adapters).toSorted());
});

describe.each(fakes)('$adapter', (fake) => {
  let tenant: Tenant;

  beforeEach(async () => {
    tenant = await createTenant(test);
    test.logLines.length = 0;
  });

  async function provide(rest: Record<string, unknown> = {}) {
    const provider = await serveProvider(fake.respond);
    const connector = await createConnector(test, tenant.admin.token, {
      category: 'integration',
      api_base_url: `${provider.origin}${fake.basePath}`,
      config: { adapter: fake.adapter, ...fake.config },
      ...rest,
    });
    return { ...provider, key: connector.api_key as string };
  }

  const call = () => ({ tenantId: tenant.tenantId, caller: { userId: null, requestId: null } });
  const search = (wanted = fake.search.wanted) => searchPlaces(test.service.services, call(), wanted);
  const reverse = (wanted = fake.reverse.wanted) => findPlaceAt(test.service.services, call(), wanted);

  /** The log contains neither the query, which may be a home address, nor the answer. */
  function expectNothingLogged(): void {
    const log = test.logLines.join('\n');
    for (const secret of ['canary', fake.search.wanted.text, encodeURIComponent(fake.search.wanted.text)])
      expect(log).not.toContain(secret);
  }

  it('finds places', async () => {
    const { key } = await provide();
    expect(await search()).toEqual({ places: fake.search.places, provider: key });
    expectNothingLogged();
  });

  it('finds the address of a position', async () => {
    const { key } = await provide();
    expect(await reverse()).toEqual({ place: fake.reverse.place, provider: key });
    expectNothingLogged();
  });

  it('returns an empty result for an unknown place and position', async () => {
    const { key } = await provide();
    expect(await search(fake.nothing.search)).toEqual({ places: [], provider: key });
    expect(await reverse(fake.nothing.reverse)).toEqual({ place: null, provider: key });
  });

  it('is also selected by the api_key of the connector', async () => {
    await provide({ api_key: fake.adapter, config: fake.config });
    expect((await search()).provider).toBe(fake.adapter);
  });

  it('has a health check that the provider answers', async () => {
    const adapter = adapters[fake.adapter]!;
    const settings = { baseUrl: `http://a.example${fake.basePath}`, config: fake.config, credentials: null };
    const { url, headers } = adapter.check(settings);
    const asked = { method: 'GET', url: new URL(url), headers: { 'user-agent': 'Atrium', ...headers } };
    expect(fake.respond(asked).status).toBe(200);
  });

  it.each<[string, unknown]>([
    ['nothing', ''],
    ['no JSON', '<html>canary</html>'],
    ['JSON that is cut', '[{"display_name":"canary"'],
    ['null', 'null'],
    ['a text', '"canary"'],
    ['a number', '5'],
    ['a list of nothing that fits', [null, 1, 'canary', [], {}, { lat: 5 }]],
    ['JSON too deep to be read', '['.repeat(200_000)],
    ['10 MB', [{ display_name: 'x'.repeat(10_000_000), lat: 1, lon: 1 }]],
  ])('fails when the answer is %s', async (_what, body) => {
    const provider = await provide();
    provider.say(() => ({ status: 200, body }));
    await expect(search()).rejects.toMatchObject(failed);
    await expect(reverse()).rejects.toMatchObject(failed);
    expectNothingLogged();
  });

  it.each([301, 302, 307, 308, 401, 403, 404, 408, 429, 500, 503])(
    'fails when the provider answers %i',
    async (status) => {
      const provider = await provide();
      const other = await serveProvider(fake.respond);
      provider.misbehave((response) =>
        response.writeHead(status, { location: `${other.origin}${fake.basePath}` }).end('canary'),
      );
      await expect(search()).rejects.toMatchObject(failed);
      await expect(reverse()).rejects.toMatchObject({
        status: expect.toSatisfy((code) => code === 502 || code === 503),
      });
      expect(other.asked).toEqual([]);
      expectNothingLogged();
    },
  );

  it.each([400, 413, 414, 422])('reports a refused request: %i', async (status) => {
    const provider = await provide();
    provider.misbehave((response) => response.writeHead(status).end('canary'));
    const refused = { status: 422, details: { code: 'REFUSED_BY_PROVIDERS' } };
    await expect(search()).rejects.toMatchObject(refused);
    await expect(reverse()).rejects.toMatchObject(refused);
    expectNothingLogged();
  });

  it.each(['', 'canary\r\n\r\n'])('fails when the provider sends %j and closes the connection', async (words) => {
    const provider = await provide();
    provider.misbehave((_response, request) => request.socket.end(words));
    await expect(search()).rejects.toMatchObject(failed);
    expectNothingLogged();
  });

  it('fails when the provider is unreachable', async () => {
    await provide({ api_base_url: 'http://127.0.0.1:1024' });
    await expect(reverse()).rejects.toMatchObject(failed);
  });

  it('fails when the provider does not answer in time', async () => {
    const provider = await provide();
    provider.misbehave(() => undefined);
    const hurried = { ...call(), timeouts: { attemptMs: 100, totalMs: 10_000 } };
    await expect(searchPlaces(test.service.services, hurried, fake.search.wanted)).rejects.toMatchObject(failed);
  });

  it.each<[string, Record<string, unknown>]>([
    ['of another category', { category: 'system_sync', api_key: fake.adapter, config: {} }],
    ['of no adapter', { config: {} }],
    ['that is disabled', { enabled: false }],
  ])('makes no request for a connector %s', async (_what, rest) => {
    const provider = await provide(rest);
    const refused = { status: 503, details: { code: 'NO_PROVIDER' } };
    await expect(search()).rejects.toMatchObject(refused);
    await expect(reverse()).rejects.toMatchObject(refused);
    expect(provider.asked).toEqual([]);
  });
});

describe('adapterOf', () => {
  it.each([
    [{ adapter: 'nominatim' }, 'mine', true],
    [{}, 'nominatim', true],
    [{}, 'mine', false],
    [{ adapter: 'modelhub' }, 'nominatim', false],
    [{ adapter: null }, 'nominatim', false],
    [{ adapter: 'toString' }, 'nominatim', false],
  ])('%j of %s', (config, key, isThere) => {
    expect(adapterOf({ config, key }) !== undefined).toBe(isThere);
  });
});
