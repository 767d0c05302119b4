import { beforeEach, describe, expect, it } from 'vitest';

import { adapterOf, adapters } from '#modules/connectors/models/adapters/adapters';
import { modelhubFake } from '#modules/connectors/models/adapters/modelhub/testing/fake';
import type { ModelsFake } from '#modules/connectors/models/adapters/testing/fake';
import { fetchModels, listModelSources } from '#modules/connectors/models/models.service';
import { createConnector } from '#modules/connectors/testing/connectors';
import { serveProvider } from '#modules/connectors/testing/provider-server';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
const fakes: readonly ModelsFake[] = [modelhubFake];
const failed = { status: 502, code: 'UPSTREAM_ERROR' };
const caller = { userId: null, requestId: null };

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
      category: 'system_sync',
      api_base_url: `${provider.origin}${fake.basePath}`,
      config: { adapter: fake.adapter },
      auth_config: fake.credentials,
      ...rest,
    });
    return { ...provider, connector };
  }

  const list = (task: 'text' | 'image' = 'text', rest: { timeouts?: { attemptMs: number; totalMs: number } } = {}) =>
    fetchModels(test.service.services, { tenantId: tenant.tenantId, task, caller, expectsSome: false, ...rest });

  /** Nothing of what opens the provider, and nothing that it said. */
  const expectSilence = () => expect(test.logLines.join('\n')).not.toContain('canary');

  it.each(['text', 'image'] as const)('lists models that generate %s, complete to the last character', async (task) => {
    const { connector } = await provide();
    expect(await list(task)).toEqual({
      models: fake.lists[task],
      dropped: 0,
      provider: connector.api_key,
      source: `${connector.id} ${connector.api_base_url}`,
    });
    expect(await listModelSources(test.service.services, tenant.tenantId)).toEqual([
      `${connector.id} ${connector.api_base_url}`,
    ]);
    expectSilence();
  });

  it('is also selected by the api_key of the connector', async () => {
    await provide({ api_key: fake.adapter, config: {} });
    expect((await list()).provider).toBe(fake.adapter);
  });

  it('omits invalid entries and logs their number', async () => {
    const provider = await provide();
    const data = [null, 5, 'canary', [], {}, { id: 7 }, { id: 'good' }, { id: 'good' }];
    provider.say(() => ({ status: 200, body: { data } }));
    const { models, dropped } = await list();
    expect([models.map(({ id }) => id), dropped]).toEqual([['good'], 7]);
    expect(test.logLines.join('\n')).toContain('"dropped":7');
    expectSilence();
  });

  it.each<[string, unknown]>([
    ['nothing', ''],
    ['no JSON', '<html>canary</html>'],
    ['JSON that is cut', '{"data":[{"id":"canary"}'],
    ['null', 'null'],
    ['a text', '"canary"'],
    ['a bare list', []],
    ['an object without a list', {}],
    ['an object where the list should be', { data: { canary: [] } }],
    ['a list of nothing that fits', { data: [null, 1, 'canary', [], {}, { id: 5 }, { id: '' }] }],
    ['JSON too deep to be read', '['.repeat(200_000)],
    ['10 MB', { data: [{ id: 'acme/long', description: 'x'.repeat(10_000_000) }] }],
  ])('fails when the answer is %s', async (_what, body) => {
    const provider = await provide();
    provider.say(() => ({ status: 200, body }));
    await expect(list()).rejects.toMatchObject(failed);
    expectSilence();
  });

  it('fails with credentials that the provider refuses', async () => {
    const provider = await provide({ auth_config: fake.wrongCredentials });
    await expect(list()).rejects.toMatchObject(failed);
    expect(provider.asked.length).toBeGreaterThan(0);
    expectSilence();
  });

  it.each([301, 302, 307, 308, 403, 404, 408, 429, 500, 503])('fails when the provider answers %i', async (status) => {
    const provider = await provide();
    const other = await serveProvider(fake.respond);
    provider.misbehave((response) =>
      response.writeHead(status, { location: `${other.origin}/api/v1/models` }).end('canary'),
    );
    await expect(list()).rejects.toMatchObject(failed);
    expect(other.asked).toEqual([]);
    expectSilence();
  });

  it.each([400, 413, 414, 422])('reports a refused request: %i', async (status) => {
    const provider = await provide();
    provider.misbehave((response) => response.writeHead(status).end('canary'));
    await expect(list()).rejects.toMatchObject({ status: 422, details: { code: 'REFUSED_BY_PROVIDERS' } });
    expectSilence();
  });

  it.each(['', 'canary\r\n\r\n'])('fails when the provider sends %j and closes the connection', async (words) => {
    const provider = await provide();
    provider.misbehave((_response, request) => request.socket.end(words));
    await expect(list()).rejects.toMatchObject(failed);
    expectSilence();
  });

  it('fails when the provider is unreachable', async () => {
    await provide({ api_base_url: 'http://127.0.0.1:1024' });
    await expect(list()).rejects.toMatchObject(failed);
  });

  it('fails when the provider does not answer in time', async () => {
    const provider = await provide();
    provider.misbehave(() => undefined);
    await expect(list('text', { timeouts: { attemptMs: 100, totalMs: 10_000 } })).rejects.toMatchObject(failed);
  });

  it.each<[string, Record<string, unknown>]>([
    ['of another category', { category: 'integration', api_key: fake.adapter, config: {} }],
    ['of no adapter', { config: {} }],
    ['that is disabled', { enabled: false }],
  ])('makes no request for a connector %s', async (_what, rest) => {
    const provider = await provide(rest);
    await expect(list()).rejects.toMatchObject({ status: 503, details: { code: 'NO_PROVIDER' } });
    expect(await listModelSources(test.service.services, tenant.tenantId)).toEqual([]);
    expect(provider.asked).toEqual([]);
  });
});

describe('adapterOf', () => {
  it.each([
    [{ adapter: 'modelhub' }, 'mine', true],
    [{}, 'modelhub', true],
    [{}, 'mine', false],
    [{ adapter: 'webhook' }, 'modelhub', false],
    [{ adapter: 5 }, 'modelhub', false],
    [{}, '__proto__', false],
    [{ adapter: 'constructor' }, 'modelhub', false],
  ])('%j of %s', (config, key, isThere) => {
    expect(adapterOf({ config, key }) !== undefined).toBe(isThere);
  });
});
