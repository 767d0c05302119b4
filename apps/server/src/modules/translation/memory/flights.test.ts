import { beforeEach, describe, expect, it, vi } from 'vitest';

import { door } from '#modules/translation/jobs/testing/steps';
import { translate } from '#modules/translation/memory/memory.service';
import { createTenantOf, environment, path } from '#modules/translation/testing/tenants';
import { inLanguage, provideTranslator } from '#modules/translation/testing/translator';
import { race } from '#test/support/directory';
import { createMember, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { useService, type Answer, type Call } from '#test/support/harness';

let ahead = 0;
// The configuration of the installation is changed here, so no other test may share it.
const test = useService({ ownDatabase: true, environment, now: () => new Date(Date.now() + ahead) });
let tenant: Tenant;
let member: Call;
let translator: Awaited<ReturnType<typeof provideTranslator>>;

beforeEach(async () => {
  tenant = await createTenantOf(test);
  member = { token: (await createMember(test, tenant)).token };
  translator = await provideTranslator(test, tenant);
});

const translateText = (change: object = {}, by = member) =>
  test.call('POST', `${path}/text`, {
    ...by,
    body: { text: 'Hall', source_language: 'en', target_language: 'de', ...change },
  });
const isAsked = (times: number) =>
  vi.waitFor(() => expect(translator.requests).toHaveLength(times), { timeout: 30_000 });

describe('equal concurrent texts', () => {
  it('are one call to the provider; all other answers are copies', async () => {
    const answers: Answer[] = [];
    const counts = await race(50, async () => {
      const answer = await translateText();
      answers.push(answer);
      return answer;
    });
    expect(counts).toEqual({ 200: 50 });
    expect(translator.requests).toHaveLength(1);
    const data = answers.map(({ body }) => body.data);
    for (const each of data)
      expect(each).toMatchObject({ translated_text: inLanguage('de', 'Hall'), provider_used: translator.key });
    expect(data.filter(({ cached }) => !cached)).toHaveLength(1);
    await test.service.services.callLog.flush();
    const row = await test.service.services.database.tenant(tenant.tenantId).first<Record<string, unknown>>({
      kind: 'read',
      text: 'select cache_hits, successes from provider_call_hours where tenant_id = $1',
      values: [tenant.tenantId],
      prepare: false,
    });
    expect(row).toEqual({ cache_hits: 49, successes: 1 });
  });

  it('each count against the rate limit of their caller', async () => {
    // The provider answers only after all requests, so no request is served from the translation memory.
    const answered = door();
    translator.meanwhile = () => answered.opened;
    let refused = 0;
    const racing = race(100, async () => {
      const answer = await translateText();
      if (answer.status === 429) refused += 1;
      return answer;
    });
    await vi.waitFor(() => expect(refused).toBe(40), { timeout: 30_000 });
    answered.open();
    expect(await racing).toEqual({ 200: 60, 429: 40 });
    expect(translator.requests).toHaveLength(1);
    expect(await race(10, () => translateText({ text: 'Foyer' }))).toEqual({ 429: 10 });
  });

  it('fail together, and are called again afterwards', async () => {
    translator.misbehave((response) => response.writeHead(500).end());
    const answered = door();
    translator.meanwhile = () => answered.opened;
    const racing = race(20, () => translateText());
    await isAsked(1);
    answered.open();
    expect(await racing).toEqual({ 502: 20 });
    const asked = translator.requests.length;
    expect((await translateText()).status).toBe(502);
    expect(translator.requests.length).toBeGreaterThan(asked);
  });

  it.each([
    ['another text', { text: 'Halls' }],
    ['another source', { source_language: 'nl' }],
    ['another target', { target_language: 'fr' }],
    ['markup', { preserve_html: true }],
  ])('are not shared with %s', async (_what, change) => {
    const answered = door();
    translator.meanwhile = () => answered.opened;
    const both = [translateText(), translateText(change)];
    await isAsked(2);
    answered.open();
    for (const answer of both) expect((await answer).body.data).toMatchObject({ cached: false });
  });

  it('are not shared with another tenant', async () => {
    const other = await createTenantOf(test);
    const { requests } = await provideTranslator(test, other);
    expect(await race(50, (at) => translateText({}, at % 2 === 0 ? member : { token: other.admin.token }))).toEqual({
      200: 50,
    });
    expect([translator.requests.length, requests.length]).toEqual([1, 1]);
  });

  it('are separate calls while caches are disabled', async () => {
    const { token } = await logInSystemAdmin(test);
    const configure = async (body: object) => {
      expect(await test.call('PATCH', '/api/v1/system/security/config', { token, body })).toMatchObject({
        status: 200,
      });
      ahead += 1000;
    };
    await configure({ cache_enabled: false });
    const answered = door();
    translator.meanwhile = () => answered.opened;
    const racing = race(5, () => translateText());
    await isAsked(5);
    answered.open();
    expect(await racing).toEqual({ 200: 5 });
    await configure({ cache_enabled: true });
  });

  it('are not shared with a tenant that has disabled the operation', async () => {
    const answered = door();
    translator.meanwhile = () => answered.opened;
    const first = translateText();
    await isAsked(1);
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `insert into operation_overrides (tenant_id, id, operation_key, enabled, created_at, updated_at)
             values ($1, uuidv7(), 'translation.text', false, now(), now())`,
      values: [tenant.tenantId],
      prepare: false,
    });
    expect((await translateText()).status).toBe(403);
    answered.open();
    expect((await first).status).toBe(200);
  });
});

describe('a caller that disconnects', () => {
  const wanted = { source: 'en', target: 'de', html: false, texts: ['Hall'] };
  const translateUntil = (signal: AbortSignal) =>
    translate(
      {
        services: test.service.services,
        db: test.service.services.database.tenant(tenant.tenantId),
        operation: 'translation.text',
        caller: { userId: null, requestId: null },
        begin: () => Promise.resolve(signal),
      },
      wanted,
    );

  /** Two callers: one has started the provider call, the other waits for the same result. */
  async function two() {
    const answered = door();
    const closed = Promise.withResolvers<void>();
    translator.meanwhile = () => answered.opened;
    translator.misbehave((response) => {
      const { q, target } = translator.requests.at(-1)!;
      response.end(JSON.stringify({ translatedText: q.map((text) => inLanguage(target, text)) }));
    });
    translator.onClose = closed.resolve;
    const [first, second] = [new AbortController(), new AbortController()];
    const calls = [translateUntil(first.signal), translateUntil(second.signal)] as const;
    for (const call of calls) call.catch(() => undefined);
    await isAsked(1);
    return { answered, closed: closed.promise, first, second, calls };
  }

  it.each(['first', 'second'] as const)('does not abort the call for the others: the %s', async (who) => {
    const { answered, calls, ...both } = await two();
    const at = who === 'first' ? 0 : 1;
    both[who].abort(new Error('left'));
    await expect(calls[at]).rejects.toThrow('left');
    answered.open();
    const { translations } = await calls[1 - at]!;
    expect(translations).toMatchObject([{ text: inLanguage('de', 'Hall') }]);
    expect(translator.requests).toHaveLength(1);
  });

  it('as the last one aborts the call; the next caller starts a new one', async () => {
    const { answered, closed, calls, first, second } = await two();
    for (const each of [first, second]) each.abort(new Error('left'));
    for (const call of calls) await expect(call).rejects.toThrow('left');
    await closed;
    const next = translateUntil(new AbortController().signal);
    await isAsked(2);
    answered.open();
    expect((await next).translations).toMatchObject([{ cached: false }]);
  });
});
