import { describe, expect, it, vi } from 'vitest';

import { createFairTurns } from '#core/base/concurrency/fair-semaphore';
import type { Services } from '#core/platform/services';
import { door, jobIn, stepsOf } from '#modules/translation/jobs/testing/steps';
import { createTenantOf, environment } from '#modules/translation/testing/tenants';
import { inLanguage, provideTranslator, type Translator } from '#modules/translation/testing/translator';
import { sweepJobs, translateInBackground } from '#modules/translation/translation.jobs';
import { withClient } from '#test/support/database';
import { race, trailOf } from '#test/support/directory';
import type { Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

// Its queue is never started: what waits is done here, one after the other.
const test = useService({ environment });

/** The service at a time that stands still, so that a pause is exactly what it is to be. */
function atRest() {
  const at = new Date();
  return {
    services: { ...test.service.services, now: () => at },
    after: (ms: number) => new Date(at.getTime() + ms),
  };
}

async function begin() {
  const tenant = await createTenantOf(test, ['en', 'de']);
  const { tenantId } = tenant;
  const translator = await provideTranslator(test, tenant);
  const change = (text: string, values: unknown[]) =>
    withClient(test.connection, (client) => client.query(text, values));
  const within = (text: string, id: string) =>
    test.service.services.database
      .tenant(tenantId)
      .interactive.all<Record<string, unknown>>({ kind: 'write', text, values: [tenantId, id], prepare: false });
  return {
    tenant,
    translator,
    ...stepsOf(test, tenant),
    change,
    /** Does a job's turn as a process would that has taken it from the queue. */
    async work(jobId: string, services: Services = test.service.services): Promise<void> {
      await change(`delete from queue.job where singleton_key = $1`, [jobId]);
      const { signal } = new AbortController();
      await translateInBackground.run({ services, data: { tenantId, jobId }, attempt: 1, signal });
    },
    /** When its next turn is due: no sooner than it was sent; undefined where nothing waits. */
    async dueOf(jobId: string): Promise<Date | undefined> {
      const text = `select start_after as due from queue.job where singleton_key = $1 and state = 'created'`;
      return (await change(text, [jobId])).rows[0]?.due as Date | undefined;
    },
    failSince: (id: string, at: Date) =>
      within(`update translation_jobs set failing_since = '${at.toISOString()}' where tenant_id = $1 and id = $2`, id),
    setStatus: (status: string) =>
      within(`update tenants set status = '${status}' where id = $1 and $2::text is not null`, status),
  };
}

/** The translator refuses these texts. */
function refuse(translator: Translator, isRefused: (q: readonly string[]) => boolean): void {
  translator.misbehave((response) => {
    const { q, target } = translator.requests.at(-1)!;
    if (isRefused(q)) return void response.writeHead(400).end('canary');
    const translatedText = q.map((text) => inLanguage(target, text));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ translatedText }));
  });
}

/** A preferred connector that has just answered with Retry-After. */
async function provideAway(tenant: Tenant) {
  const { connectorId } = await provideTranslator(test, tenant, { priority: 1 });
  const pauseFor = (interval: string) =>
    test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `update connectors set retry_at = now() + interval '${interval}' where tenant_id = $1 and id = $2`,
      values: [tenant.tenantId, connectorId],
      prepare: false,
    });
  await pauseFor('1 h');
  return { comeBack: () => pauseFor('0 s') };
}

/** A refusal while another connector is paused counts against no connector. */
describe('a job whose providers fail', () => {
  it('is tried again after pauses that grow, fails after an hour, and can be resumed', async () => {
    const { tenant, translate, translator, createTags, work, dueOf, failSince, job, resume } = await begin();
    await provideAway(tenant);
    await createTags(70);
    refuse(translator, () => true);
    const asked = await translate({ entity_type: 'tag' });
    expect(asked.body.data).toMatchObject({ entities_translated: 0, provider_used: 'none', batches_processed: 0 });
    const id = jobIn(asked);
    const { services, after } = atRest();
    await work(id, services);
    expect(await dueOf(id)).toEqual(after(30_000));
    await failSince(id, after(-5 * 60_000));
    await work(id, services);
    expect(await dueOf(id)).toEqual(after(5 * 60_000));
    expect((await job(id)).body.data).toMatchObject({ status: 'running', error: null });
    await failSince(id, new Date(Date.now() - 60 * 60_000));
    await work(id);
    const { data: failed } = (await job(id)).body;
    expect(failed).toMatchObject({ status: 'failed', error: expect.stringMatching(/^No provider/), texts_failed: 0 });
    expect(JSON.stringify(failed)).not.toContain('canary');
    refuse(translator, () => false);
    expect(await resume(id)).toMatchObject({ status: 200 });
    await work(id);
    expect((await job(id)).body.data).toMatchObject({
      status: 'completed',
      entities_translated: 70,
      batches_processed: 2,
    });
  }, 60_000);

  it('translates all texts except an untranslatable one', async () => {
    const { tenant, translate, translator, createTags, work, job, namesIn } = await begin();
    await provideAway(tenant);
    await createTags(60);
    refuse(translator, (q) => q.includes('Tag 7'));
    const id = jobIn(await translate({ entity_type: 'tag' }));
    await work(id);
    expect((await job(id)).body.data).toMatchObject({
      status: 'completed',
      entities_translated: 59,
      texts_failed: 1,
      batches_processed: 2,
    });
    const missing = (await namesIn('de')).flatMap((name, at) => (name === null ? [at] : []));
    expect(missing).toEqual([7]);
  });

  it('goes on at the next batch, and fails where the last one fails for an hour', async () => {
    const { tenant, translate, translator, createTags, work, failSince, job } = await begin();
    await provideAway(tenant);
    await createTags(60);
    refuse(translator, (q) => q.some((text) => Number(text.split(' ')[1]) >= 50));
    const id = jobIn(await translate({ entity_type: 'tag' }));
    await work(id);
    expect((await job(id)).body.data).toMatchObject({ status: 'running', batches_processed: 1 });
    await failSince(id, new Date(Date.now() - 60 * 60_000));
    await work(id);
    expect((await job(id)).body.data).toMatchObject({ status: 'failed', entities_translated: 50 });
  }, 60_000);
});

describe('a job of which something is refused', () => {
  it('has all the other texts translated within the request, and does not wait for paused providers', async () => {
    const { translate, translator, createTags, job, namesIn } = await begin();
    await createTags(60);
    refuse(translator, (q) => q.some((text) => ['Tag 7', 'Tag 8', 'Tag 30', 'Tag 55'].includes(text)));
    const asked = await translate({ entity_type: 'tag' });
    expect(asked).toMatchObject({ status: 200, body: { data: { entities_translated: 56, batches_processed: 2 } } });
    expect((await job(jobIn(asked))).body.data).toMatchObject({ status: 'completed', texts_failed: 4, error: null });
    const missing = (await namesIn('de')).flatMap((name, at) => (name === null ? [at] : []));
    expect(missing).toEqual([7, 8, 30, 55]);
  });

  it('is completed where all is refused, and asks for each record of one batch only', async () => {
    const { translate, translator, createTags, job } = await begin();
    await createTags(150);
    refuse(translator, () => true);
    const asked = await translate({ entity_type: 'tag' });
    expect(asked.body.data).toMatchObject({ entities_translated: 0, languages_translated: [], batches_processed: 3 });
    expect((await job(jobIn(asked))).body.data).toMatchObject({ status: 'completed', texts_failed: 150 });
    const alone = translator.requests.filter(({ q }) => q.length === 1).map(({ q: [text] }) => text);
    expect(alone).toHaveLength(50);
    expect(new Set(alone)).toEqual(new Set(Array.from({ length: 50 }, (_, at) => `Tag ${at}`)));
  });

  it('tries the remaining texts again if a connector that may accept them is paused meanwhile', async () => {
    const { tenant, translate, translator, createTags, job, work, dueOf } = await begin();
    await createTags(25);
    refuse(translator, () => true);
    const away = Promise.withResolvers<Awaited<ReturnType<typeof provideAway>>>();
    // From the third call, a paused connector might accept the text.
    translator.meanwhile = async () => {
      if (translator.requests.length === 2) away.resolve(await provideAway(tenant));
    };
    const id = jobIn(await translate({ entity_type: 'tag' }));
    expect((await job(id)).body.data).toMatchObject({ status: 'running', batches_processed: 0, texts_failed: 0 });
    const { services, after } = atRest();
    await work(id, services);
    expect(await dueOf(id)).toEqual(after(30_000));
    await (await away.promise).comeBack();
    await work(id);
    expect((await job(id)).body.data).toMatchObject({ status: 'completed', entities_translated: 25, texts_failed: 0 });
  }, 60_000);

  it('waits for another provider that is away, which may take it', async () => {
    const { tenant, translate, translator, createTags, job, work, dueOf } = await begin();
    await createTags(60);
    const { comeBack } = await provideAway(tenant);
    refuse(translator, () => true);
    const id = jobIn(await translate({ entity_type: 'tag' }));
    const { services, after } = atRest();
    await work(id, services);
    expect((await job(id)).body.data).toMatchObject({ status: 'running', texts_failed: 0 });
    expect(await dueOf(id)).toEqual(after(30_000));
    await comeBack();
    await work(id);
    expect((await job(id)).body.data).toMatchObject({ status: 'completed', entities_translated: 60, texts_failed: 0 });
  }, 60_000);
});

describe('a job at a quota limit', () => {
  const limit = (tenantId: string, max: number) =>
    test.service.services.database.tenant(tenantId).interactive.all({
      kind: 'write',
      text: `insert into operation_overrides (tenant_id, id, operation_key, enabled, quota_limits, created_at, updated_at)
             values ($1, uuidv7(), 'translation.entity_type', true, jsonb_build_object('requests_per_day', $2::integer), now(), now())`,
      values: [tenantId, max],
      prepare: false,
    });

  it('continues after the reset', async () => {
    const { tenant, translate, createTags, dueOf, work, job } = await begin();
    await createTags(60);
    await limit(tenant.tenantId, 1);
    const id = jobIn(await translate({ entity_type: 'tag' }));
    const isDueAfterMidnight = async () => {
      const midnight = Math.floor(Date.now() / 86_400_000 + 1) * 86_400_000;
      const due = (await dueOf(id))!.getTime();
      expect([due >= midnight, due < midnight + 60_000]).toEqual([true, true]);
    };
    await isDueAfterMidnight();
    await work(id);
    await isDueAfterMidnight();
    expect((await job(id)).body.data).toMatchObject({ status: 'running', batches_processed: 1, error: null });
  });

  it('is refused where nothing was done', async () => {
    const { tenant, translate, createTags } = await begin();
    await createTags(60);
    await limit(tenant.tenantId, 1);
    await translate({ entity_type: 'tag', entity_ids: await createTags(1, 'Other') });
    expectError(await translate({ entity_type: 'tag' }), 429, 'RATE_LIMIT_EXCEEDED', 'QUOTA_EXCEEDED');
  });
});

it('a job that fails within the request, after its first batch, is named', async () => {
  const { translate, translator, createTags, admin, job } = await begin();
  await createTags(60);
  translator.meanwhile = async () => {
    await test.call('POST', `/api/v1/secure/ai/providers/${translator.connectorId}/disable`, admin);
  };
  const answered = await translate({ entity_type: 'tag' });
  expect(answered).toMatchObject({ status: 200, body: { data: { batches_processed: 1, entities_translated: 50 } } });
  expect((await job(jobIn(answered))).body.data).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/^No connector/),
  });
});

describe('a tenant that is suspended', () => {
  it('has nothing done until it is active again', async () => {
    const { translate, translator, createTags, setStatus, work, dueOf, job } = await begin();
    await createTags(210);
    const id = jobIn(await translate({ entity_type: 'tag' }));
    const asked = translator.requests.length;
    const sweep = async () => {
      const { services } = test.service;
      await sweepJobs.run({ services, connection: test.connection, signal: new AbortController().signal });
    };
    await setStatus('suspended');
    await work(id);
    await sweep();
    expect([translator.requests.length - asked, await dueOf(id)]).toEqual([0, undefined]);
    await setStatus('active');
    await sweep();
    expect(await dueOf(id)).toBeDefined();
    await work(id);
    expect((await job(id)).body.data).toMatchObject({ status: 'completed', entities_translated: 210 });
  });

  it('has what is under way end', async () => {
    const { tenant, translate, translator, createTags, setStatus, work, job, namesIn } = await begin();
    await createTags(260);
    const id = jobIn(await translate({ entity_type: 'tag' }));
    const [asked, answered] = [door(), door()];
    translator.meanwhile = () => (asked.open(), answered.opened);
    const working = work(id);
    await asked.opened;
    await setStatus('suspended');
    answered.open();
    await working;
    await setStatus('active');
    expect((await job(id)).body.data).toMatchObject({ status: 'running', entities_translated: 200 });
    expect((await namesIn('de')).filter((name) => name !== null)).toHaveLength(200);
    expect(await trailOf(test, tenant.tenantId, id)).toHaveLength(5);
  });
});

describe('turns', () => {
  it('of two tenants with many records leave a third one its share: its few are done after a few of theirs', async () => {
    const flooding = [await begin(), await begin()];
    const quiet = await begin();
    const order: string[] = [];
    const started = await Promise.all(
      [...flooding, quiet].map(async (one, at) => {
        await one.createTags(at === 2 ? 330 : 1500);
        const id = jobIn(await one.translate({ entity_type: 'tag' }));
        one.translator.meanwhile = () => Promise.resolve(void order.push(at === 2 ? 'quiet' : 'flood'));
        return { one, id };
      }),
    );
    // As the queue does: so many at once, in the order in which they came.
    const turns = createFairTurns(translateInBackground.concurrency);
    await Promise.all(started.map(({ one, id }) => turns({ tenant: 'all', principal: '' }, () => one.work(id))));
    expect((await quiet.job(started[2]!.id)).body.data).toMatchObject({ status: 'completed' });
    expect(order.filter((name) => name === 'flood').length).toBeGreaterThan(50);
    // At most two rounds of the batches that are under way at once, of more than fifty that the others need.
    expect(order.indexOf('quiet')).toBeLessThan(25);
  }, 60_000);

  it('end after ten minutes, and what is left is sent on', async () => {
    const { translate, createTags, work, dueOf, job } = await begin();
    await createTags(330);
    const id = jobIn(await translate({ entity_type: 'tag' }));
    let looks = 0;
    const now = () => new Date(Date.now() + looks++ * 3 * 60_000);
    await work(id, { ...test.service.services, now });
    const { data } = (await job(id)).body;
    expect(data).toMatchObject({ status: 'running' });
    expect(data.batches_processed).toBeGreaterThan(4);
    // Without a pause: the clock of the turn is far ahead.
    expect((await dueOf(id))!.getTime()).toBeLessThanOrEqual(Date.now());
  });

  it('of one tenant come one after the other in a process', async () => {
    const { translate, translator, createTags, work, dueOf } = await begin();
    await createTags(210);
    const first = jobIn(await translate({ entity_type: 'tag' }));
    const second = jobIn(await translate({ entity_type: 'tag', target_languages: ['fr'] }));
    const [asked, answered] = [door(), door()];
    translator.meanwhile = () => (asked.open(), answered.opened);
    const working = work(first);
    await asked.opened;
    const before = translator.requests.length;
    const { services, after } = atRest();
    await work(second, services);
    expect(translator.requests).toHaveLength(before);
    expect(await dueOf(second)).toEqual(after(5000));
    translator.meanwhile = () => undefined;
    answered.open();
    await working;
  });

  it('429: twenty jobs of a tenant are under way', async () => {
    const { tenant, translate, translator, createTags, jobs, resume } = await begin();
    await createTags(1);
    await translate({ entity_type: 'tag' });
    const [{ id }] = (await jobs()).body.data;
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `insert into translation_jobs (tenant_id, id, entity_type, fingerprint, status, languages, entities_total, created_at, updated_at)
             select $1, uuidv7(), 'tag', sha256(n::text::bytea), 'running', '{de}', 1, now(), now() from generate_series(1, 20) n`,
      values: [tenant.tenantId],
      prepare: false,
    });
    const asked = translator.requests.length;
    const refused = await translate({ entity_type: 'category' });
    expectError(refused, 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_JOBS');
    expect(refused.headers['retry-after']).toBe('60');
    expectError(await resume(id), 429, 'RATE_LIMIT_EXCEEDED', 'TOO_MANY_JOBS');
    expect(translator.requests).toHaveLength(asked);
  });

  it('429: all but those that there is room for, of 50 at once', async () => {
    const { tenant, translate, translator, createTags } = await begin();
    const ids = await createTags(50);
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `insert into translation_jobs (tenant_id, id, entity_type, fingerprint, status, languages, entities_total, created_at, updated_at)
             select $1, uuidv7(), 'tag', sha256(n::text::bytea), 'running', '{de}', 1, now(), now() from generate_series(1, 17) n`,
      values: [tenant.tenantId],
      prepare: false,
    });
    // None ends before all have been decided about.
    const answered = door();
    translator.meanwhile = () => answered.opened;
    let refused = 0;
    const racing = race(50, async (at) => {
      const answer = await translate({ entity_type: 'tag', entity_ids: [ids[at]] });
      if (answer.status === 429) refused += 1;
      return answer;
    });
    await vi.waitFor(() => expect([translator.requests.length, refused]).toEqual([3, 47]), { timeout: 30_000 });
    answered.open();
    expect(await racing).toEqual({ 200: 3, 429: 47 });
  });
});

it('a request without a provider call does not count against rate limits', async () => {
  const { translate } = await begin();
  // One more than a person may have reach a provider in a minute.
  for (let count = 0; count < 61; count++) expect((await translate({ entity_type: 'tag' })).status).toBe(200);
});
