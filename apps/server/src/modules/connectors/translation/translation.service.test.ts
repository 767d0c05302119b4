import { beforeEach, describe, expect, it } from 'vitest';

import { countBytesRead } from '#core/platform/outbound/testing/outside';
import { createConnector } from '#modules/connectors/testing/connectors';
import { apertiumFake } from '#modules/connectors/translation/adapters/apertium/testing/fake';
import { deeplFake } from '#modules/connectors/translation/adapters/deepl/testing/fake';
import { openaiFake } from '#modules/connectors/translation/adapters/openai/testing/fake';
import { connectorAt, startProvider, type Fake } from '#modules/connectors/translation/adapters/testing/provider';
import { connect, translate } from '#modules/connectors/translation/testing/samples';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
let tenant: Tenant;

beforeEach(async () => {
  tenant = await createTenant(test);
});

async function provide(fake: Fake, rest: Record<string, unknown> = {}) {
  const provider = await startProvider(fake);
  await createConnector(test, tenant.admin.token, connectorAt(fake, provider, rest));
  return provider;
}

describe('translateTexts', () => {
  it('uses one provider for all texts of a call and discards partial results of a failed one', async () => {
    const first = await provide(openaiFake, { api_key: 'first', priority: 1 });
    const second = await provide(deeplFake, { api_key: 'second', priority: 2 });
    first.garble((text) => (text.includes('NUMBER 99') ? '' : `FIRST ${text}`));
    const texts = Array.from({ length: 100 }, (_, index) => `Room number ${index}`);
    const answer = await translate(test, tenant, texts);
    expect(answer).toMatchObject({ provider: 'second', model: null, tokens: null });
    expect(answer.texts).toEqual(texts.map((text) => text.toUpperCase()));
    expect(second.requests).toHaveLength(2);
  });

  it('retries only the invalid segments once with a model', async () => {
    const provider = await provide(openaiFake);
    let isFirst = true;
    provider.garble((text) => {
      const isBroken = isFirst && text.includes('SECOND');
      if (isBroken) isFirst = false;
      return isBroken ? text.replace('<x id="1"/>', '') : text;
    });
    const { texts, tokens } = await translate(test, tenant, ['The first {{a}}', 'The second {{b}}', 'The third']);
    expect(texts).toEqual(['THE FIRST {{a}}', 'THE SECOND {{b}}', 'THE THIRD']);
    expect(provider.requests.map(({ body }) => JSON.parse(JSON.parse(body).messages[1].content).texts)).toEqual([
      ['The first <x id="1"/>', 'The second <x id="1"/>', 'The third'],
      ['The second <x id="1"/>'],
    ]);
    expect(tokens).toEqual({ input: 200, output: 40, total: 240 });
  });

  it('joins many lines into few requests, also for a provider that accepts one text per request', async () => {
    const provider = await provide(apertiumFake);
    const text = 'x\n'.repeat(5000);
    expect((await translate(test, tenant, [text])).texts).toEqual([text.toUpperCase()]);
    expect(provider.requests.length).toBeLessThan(150);
    provider.requests.length = 0;
    provider.garble((said) => said.replace('<x', '<y'));
    await expect(translate(test, tenant, [text])).rejects.toMatchObject({ status: 502 });
    expect(provider.requests.length).toBeLessThan(150);
  });

  it('starts no further request after a failure', async () => {
    const provider = await provide(openaiFake);
    provider.misbehave((response) => response.writeHead(500).end());
    const texts = Array.from({ length: 1000 }, (_, index) => `Room number ${index}`);
    await expect(translate(test, tenant, texts)).rejects.toMatchObject({ status: 502 });
    expect(provider.requests.length).toBeLessThanOrEqual(8);
  });

  it('fails with the abort reason of the caller', async () => {
    const provider = await provide(openaiFake);
    const leaving = new AbortController();
    provider.misbehave(() => leaving.abort(new Error('gone')));
    await expect(translate(test, tenant, ['Hello'], { signal: leaving.signal })).rejects.toThrow('gone');
  });

  it.each<[string, Record<string, unknown>, boolean]>([
    ['that names its adapter', { api_key: 'any' }, true],
    ['that is named like it', { api_key: 'deepl', config: { formality: 'prefer_less' } }, true],
    ['of another category', { category: 'integration', config: {} }, false],
    ['that is disabled', { enabled: false }, false],
    ['for this pair', { config: { adapter: 'deepl', formality: 'prefer_less', pairs: ['de-en', 'en-es'] } }, true],
    ['for other pairs', { config: { adapter: 'deepl', pairs: ['es-en'] } }, false],
    ['without an adapter', { config: {} }, false],
  ])('a connector %s: %j', async (_what, rest, isUsed) => {
    const provider = await provide(deeplFake, rest);
    const answer = translate(test, tenant, ['Hello']);
    if (isUsed) expect((await answer).texts).toEqual(['HELLO']);
    else await expect(answer).rejects.toMatchObject({ status: 503, details: { code: 'NO_PROVIDER' } });
    expect(provider.requests).toHaveLength(isUsed ? 1 : 0);
  });

  it("never asks another tenant's", async () => {
    const foreign = await provide(deeplFake);
    tenant = await createTenant(test);
    await expect(translate(test, tenant, ['Hello'])).rejects.toMatchObject({ status: 503 });
    expect(foreign.requests).toEqual([]);
  });

  it('reads a hostile answer up to the limit only and retains none of it', async () => {
    const hostile = [
      'x'.repeat(10_000_000),
      JSON.stringify(openaiFake.answer(['x'.repeat(900_000)])),
      JSON.stringify(openaiFake.answer(['<x id="1"/>'.repeat(80_000)])),
      JSON.stringify(openaiFake.answer(['<g id="1">'.repeat(80_000)])),
      JSON.stringify(openaiFake.answer(['</g>'.repeat(200_000)])),
      JSON.stringify(openaiFake.answer(['&#60;'.repeat(180_000)])),
      JSON.stringify(openaiFake.answer(['{{'.repeat(400_000)])),
      JSON.stringify(openaiFake.answer(Array.from({ length: 200_000 }, () => ''))),
      '['.repeat(1_000_000),
      '{"choices":'.repeat(90_000),
      `{"choices":[{"message":{"content":${JSON.stringify('[{'.repeat(300_000))}}}]}`,
      `{"choices":[{"message":{"content":${JSON.stringify(`${'<think>'.repeat(100_000)}{"translations":["x"]}`)}}}]}`,
    ];
    for (const body of hostile) {
      await connect(test, tenant, []);
      const provider = await provide(openaiFake);
      provider.misbehave((response) => response.writeHead(200).end(body));
      const [read, logged] = [countBytesRead(), test.logLines.length];
      await expect(translate(test, tenant, ['The <b>house</b> of {{x}}'], { html: true })).rejects.toMatchObject({
        status: 502,
      });
      expect([1, 2]).toContain(provider.requests.length);
      expect(read()).toBeLessThan(1.5 * 1_048_576 * provider.requests.length);
      expect(test.logLines.slice(logged).join('').length).toBeLessThan(16_384);
    }
  });
});
