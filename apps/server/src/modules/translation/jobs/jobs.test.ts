import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { door, jobIn, stepsOf } from '#modules/translation/jobs/testing/steps';
import { createTenantOf, environment } from '#modules/translation/testing/tenants';
import { inLanguage, provideTranslator } from '#modules/translation/testing/translator';
import { sweepJobs } from '#modules/translation/translation.jobs';
import { create, race, trailOf } from '#test/support/directory';
import { createMember, createTenant } from '#test/support/factories';
import { expectError, startService, useService } from '#test/support/harness';
import { useOpened } from '#test/support/opened';

// Queues are started here, and would do the work of other suites on a database that is theirs too.
const test = useService({ ownDatabase: true, environment });
const { open } = useOpened();

/** A tenant of its own, its steps and, unless it has none, a translator. */
async function begin(languages?: readonly string[]) {
  const tenant = await createTenantOf(test, languages);
  const translator = await provideTranslator(test, tenant);
  return { tenant, translator, ...stepsOf(test, tenant) };
}

/** Another process of the installation, which does what waits. */
async function startOther() {
  const service = await startService({ environment, connection: test.connection });
  open.push(() => service.close());
  return service;
}

describe('translateEntityType', () => {
  describe('200', () => {
    it('fills missing texts in the languages of the tenant, language by language', async () => {
      const { translate, translator, createTags, namesIn } = await begin();
      await createTags(60);
      const answer = await translate({ entity_type: 'tag' });
      expect(answer).toMatchObject({ status: 200 });
      expect(answer.body).toEqual({
        data: {
          entity_type: 'tag',
          entities_total: 60,
          entities_translated: 60,
          languages_translated: ['de', 'fr'],
          provider_used: translator.key,
          batches_processed: 4,
        },
      });
      expect(answer.headers['location']).toBeUndefined();
      const targets = translator.requests.map(({ target }) => target);
      expect(targets).toEqual(targets.toSorted());
      expect((await namesIn('fr'))[59]).toBe(inLanguage('fr', 'Tag 59'));
    });

    it('keeps existing texts, and calls no provider without missing ones', async () => {
      const { translate, translator, admin } = await begin();
      const translations_i18n = { de: { name: 'Von Hand' } };
      const tag = await create(test, admin, 'tags', { name: 'By hand', translations_i18n });
      expect((await translate({ entity_type: 'tag' })).body.data).toMatchObject({
        entities_translated: 1,
        languages_translated: ['fr'],
      });
      const read = await test.call('GET', `/api/v1/secure/tags/${tag.id}`, admin);
      expect(read.body.data.translations_i18n).toEqual({
        de: { name: 'Von Hand' },
        fr: { name: inLanguage('fr', 'By hand') },
      });
      const asked = translator.requests.length;
      expect((await translate({ entity_type: 'tag' })).body.data).toEqual({
        entity_type: 'tag',
        entities_total: 1,
        entities_translated: 0,
        languages_translated: [],
        provider_used: 'none',
        batches_processed: 2,
      });
      expect(translator.requests).toHaveLength(asked);
    });

    it('overwrites texts in the given languages, never in the default language of the tenant', async () => {
      const { translate, admin, namesIn } = await begin();
      await create(test, admin, 'tags', { name: 'One', translations_i18n: { de: { name: 'Eins' } } });
      const { body } = await translate({ entity_type: 'tag', target_languages: ['DE', 'en', 'de'] });
      expect(body.data).toMatchObject({ entities_translated: 1, languages_translated: ['de'], batches_processed: 1 });
      expect(await namesIn('de')).toEqual([inLanguage('de', 'One')]);
      expect(await namesIn('en')).toEqual([null]);
    });

    it('translates only the given records, each once', async () => {
      const { translate, createTags, namesIn } = await begin(['en', 'de']);
      const [one, , three] = await createTags(3);
      const { body } = await translate({ entity_type: 'tag', entity_ids: [three, one, three!.toUpperCase()] });
      expect(body.data).toMatchObject({ entities_total: 2, entities_translated: 2, batches_processed: 1 });
      expect(await namesIn('de')).toEqual([inLanguage('de', 'Tag 0'), null, inLanguage('de', 'Tag 2')]);
    });

    it.each(['space', 'resource', 'category'] as const)('translates name and description of each %s', async (type) => {
      const { translate, admin } = await begin(['en', 'de']);
      const collection = { space: 'spaces', resource: 'resources', category: 'categories' }[type] as 'spaces';
      const texts = { name: 'Hall', description: 'A large one' };
      const { id } = await create(
        test,
        admin,
        collection,
        type === 'category' ? { translations: { en: texts } } : texts,
      );
      const { body } = await translate({ entity_type: type, entity_ids: [id] });
      expect(body.data).toMatchObject({ entity_type: type, entities_translated: 1, languages_translated: ['de'] });
    });

    it('completes at once without records', async () => {
      const { translate } = await begin();
      expect((await translate({ entity_type: 'tag' })).body.data).toEqual({
        entity_type: 'tag',
        entities_total: 0,
        entities_translated: 0,
        languages_translated: [],
        provider_used: 'none',
        batches_processed: 0,
      });
    });

    it('skips records that are deleted meanwhile', async () => {
      const { translate, translator, createTags, admin } = await begin(['en', 'de']);
      const ids = await createTags(60);
      translator.meanwhile = async () => {
        translator.meanwhile = () => undefined;
        for (const id of [ids[0], ids[55]]) await test.call('DELETE', `/api/v1/secure/tags/${id}`, admin);
      };
      const { body } = await translate({ entity_type: 'tag', entity_ids: ids });
      expect(body.data).toMatchObject({ entities_total: 60, entities_translated: 58, batches_processed: 2 });
    });

    it('is recorded once, with a job that can be read', async () => {
      const { tenant, translate, createTags, jobs, translator } = await begin();
      const ids = await createTags(2);
      await translate({ entity_type: 'tag' });
      const [job] = (await jobs()).body.data;
      expect(job).toEqual({
        id: expect.any(String),
        entity_type: 'tag',
        source_language: null,
        target_languages: null,
        protect_human: false,
        status: 'completed',
        languages: ['de', 'fr'],
        language: null,
        entities_total: 2,
        entities_translated: 2,
        languages_translated: ['de', 'fr'],
        provider_used: translator.key,
        batches_processed: 2,
        texts_failed: 0,
        error: null,
        created_by: tenant.admin.userId,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        completed_at: expect.any(String),
      });
      expect(await trailOf(test, tenant.tenantId, job.id)).toMatchObject([
        {
          action: 'translation_job.created',
          details: { entityType: 'tag', languages: ['de', 'fr'], records: 2 },
        },
        ...['de', 'fr'].map((language) => ({
          action: 'translation_job.batch_written',
          user_id: tenant.admin.userId,
          details: { language, ids, fields: ['name'] },
        })),
      ]);
    });
  });

  it('400: an invalid body', async () => {
    const { translate, createTags } = await begin();
    const [id] = await createTags(1);
    for (const body of [
      {},
      { entity_type: 'group' },
      { entity_type: 'tag', entity_ids: [] },
      { entity_type: 'tag', entity_ids: ['42'] },
      { entity_type: 'tag', entity_ids: Array.from({ length: 10_001 }, () => id) },
      { entity_type: 'tag', target_languages: ['deu'] },
      { entity_type: 'tag', more: 1 },
    ]) {
      expectError(await translate(body), 400, 'VALIDATION_ERROR');
    }
  });

  it('401, 403: without credentials or permission', async () => {
    const { tenant, translate } = await begin();
    const body = { entity_type: 'tag' };
    expectError(await translate(body, {}), 401, 'AUTHENTICATION_ERROR');
    const member = { token: (await createMember(test, tenant)).token };
    expectError(await translate(body, member), 403, 'AUTHORIZATION_ERROR');
    const manager = await createMember(test, tenant, { permissions: ['translations.manage'] });
    expect(await translate(body, { token: manager.token })).toMatchObject({ status: 200 });
  });

  it("404: a record that is unknown or another tenant's, before anything is done", async () => {
    const { translate, translator, createTags, jobs } = await begin();
    const [id] = await createTags(1);
    const [foreign] = await stepsOf(test, await createTenant(test)).createTags(1);
    for (const missing of [newId(), foreign]) {
      expectError(await translate({ entity_type: 'tag', entity_ids: [id, missing] }), 404, 'NOT_FOUND');
    }
    expectError(await translate({ entity_type: 'space', entity_ids: [id] }), 404, 'NOT_FOUND');
    expect(translator.requests).toEqual([]);
    expect((await jobs()).body.pagination.total).toBe(0);
  });

  it('422: an unknown language', async () => {
    const { translate } = await begin();
    for (const body of [{ target_languages: ['qq'] }, { source_language: 'qq' }]) {
      expectError(await translate({ entity_type: 'tag', ...body }), 422, 'UNPROCESSABLE_ENTITY', 'UNKNOWN_LANGUAGE');
    }
  });

  it('503: without a provider; the job can be resumed after one is configured', async () => {
    const tenant = await createTenantOf(test, ['en', 'de']);
    const { translate, createTags, jobs, resume, untilEnded, namesIn } = stepsOf(test, tenant);
    await createTags(3);
    expectError(await translate({ entity_type: 'tag' }), 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
    const [job] = (await jobs('?status=failed')).body.data;
    expect(job).toMatchObject({ batches_processed: 0, error: expect.stringMatching(/^No connector/) });
    await provideTranslator(test, tenant);
    expect((await resume(job.id)).body.data).toMatchObject({ status: 'running', error: null, language: 'de' });
    const { services } = await startOther();
    services.queue.start();
    expect(await untilEnded(job.id)).toMatchObject({ status: 'completed', entities_translated: 3 });
    expect(await namesIn('de')).toEqual([0, 1, 2].map((at) => inLanguage('de', `Tag ${at}`)));
  });

  it('50 equal concurrent calls share one job, and each returns its result', async () => {
    const { translate, translator, createTags, jobs } = await begin(['en', 'de']);
    await createTags(30);
    const bodies: unknown[] = [];
    expect(
      await race(50, async () => {
        const answer = await translate({ entity_type: 'tag' });
        bodies.push(answer.body.data.entities_total);
        return answer;
      }),
    ).toEqual({ 200: 50 });
    const texts = translator.requests.flatMap(({ q }) => q);
    expect(texts).toHaveLength(30);
    const { data } = (await jobs('?limit=200')).body;
    const worked = data.filter((job: { entities_translated: number }) => job.entities_translated > 0);
    expect(worked).toMatchObject([{ status: 'completed', entities_translated: 30 }]);
  });
});

describe('texts that exceed one request', () => {
  const batchOf250 = Array.from({ length: 50 }, (_, at) => `Tag ${250 + at}`);

  it('continues in the background with visible progress', async () => {
    const { translate, translator, createTags, job, untilEnded } = await begin();
    await createTags(230);
    const answer = await translate({ entity_type: 'tag' });
    expect(answer.body.data).toEqual({
      entity_type: 'tag',
      entities_total: 230,
      entities_translated: 200,
      languages_translated: ['de'],
      provider_used: translator.key,
      batches_processed: 4,
    });
    const id = jobIn(answer);
    expect((await job(id)).body.data).toMatchObject({ status: 'running', language: 'de', completed_at: null });
    const { services } = await startOther();
    services.queue.start();
    expect(await untilEnded(id)).toMatchObject({
      status: 'completed',
      entities_translated: 230,
      languages_translated: ['de', 'fr'],
      batches_processed: 10,
    });
    expect(translator.requests.flatMap(({ q }) => q)).toHaveLength(460);
  });

  it.each(['is stopped', 'was killed'])(
    'is taken over from a process that %s, without doing again what is done',
    async (how) => {
      const { translate, translator, createTags, leaveBehind, untilEnded, namesIn } = await begin(['en', 'de']);
      await createTags(330);
      const id = jobIn(await translate({ entity_type: 'tag', target_languages: ['de'] }));
      const [asked, answer] = [door(), door()];
      translator.meanwhile = async ({ q }) => {
        if (!q.includes('Tag 250')) return;
        asked.open();
        await answer.opened;
      };
      const first = await startOther();
      first.services.queue.start();
      await asked.opened;
      await first.close();
      answer.open();
      if (how === 'was killed') await leaveBehind(id);
      const second = await startOther();
      const { services } = second;
      services.queue.start();
      await sweepJobs.run({ services, connection: test.connection, signal: new AbortController().signal });
      expect(await untilEnded(id)).toMatchObject({
        status: 'completed',
        entities_translated: 330,
        batches_processed: 7,
        texts_failed: 0,
      });
      // The batch under way is asked for again, and no other.
      const texts = translator.requests.flatMap(({ q }) => q);
      const again = texts.filter((text, at) => texts.indexOf(text) < at);
      expect(again).toContain('Tag 250');
      expect(again.filter((text) => !batchOf250.includes(text))).toEqual([]);
      expect(await namesIn('de')).toEqual(Array.from({ length: 330 }, (_, at) => inLanguage('de', `Tag ${at}`)));
    },
  );

  it('is processed by one process at a time', async () => {
    const { translate, translator, createTags, untilEnded } = await begin(['en', 'de']);
    await createTags(400);
    const id = jobIn(await translate({ entity_type: 'tag' }));
    const others = await Promise.all([startOther(), startOther(), startOther()]);
    for (const { services } of others) {
      services.queue.start();
      await sweepJobs.run({
        services,
        connection: test.connection,
        signal: new AbortController().signal,
      });
    }
    expect(await untilEnded(id)).toMatchObject({ status: 'completed', entities_translated: 400, batches_processed: 8 });
    const texts = translator.requests.flatMap(({ q }) => q);
    expect(texts.toSorted()).toEqual([...new Set(texts)].toSorted());
  });
});

describe('cancelTranslationJob', () => {
  it('200: ends a running job; written texts are kept', async () => {
    const { tenant, translate, translator, createTags, cancel, job, namesIn } = await begin(['en', 'de']);
    await createTags(330);
    const id = jobIn(await translate({ entity_type: 'tag' }));
    const [asked, answer] = [door(), door()];
    translator.meanwhile = () => (asked.open(), answer.opened);
    const { services } = await startOther();
    services.queue.start();
    await asked.opened;
    expect((await cancel(id)).body.data).toMatchObject({ status: 'cancelled', language: null, error: null });
    answer.open();
    await services.queue.stop(30_000);
    expect((await job(id)).body.data).toMatchObject({ status: 'cancelled', batches_processed: 4 });
    expect((await job(id)).body.data).toMatchObject({ entities_translated: 200 });
    expect((await namesIn('de')).filter((name) => name !== null)).toHaveLength(200);
    expect((await trailOf(test, tenant.tenantId, id)).map(({ action }) => action)).toEqual([
      'translation_job.created',
      ...[1, 2, 3, 4].map(() => 'translation_job.batch_written'),
      'translation_job.cancelled',
    ]);
  });

  it('404, 409: an unknown job; a job that has ended', async () => {
    const { translate, createTags, cancel, resume, jobs } = await begin();
    await createTags(1);
    await translate({ entity_type: 'tag' });
    const [{ id }] = (await jobs()).body.data;
    expectError(await cancel(id), 409, 'CONFLICT', 'JOB_ENDED');
    expectError(await resume(id), 409, 'CONFLICT', 'JOB_NOT_FAILED');
    for (const act of [cancel, resume]) expectError(await act(newId()), 404, 'NOT_FOUND');
  });
});

describe('resumeTranslationJob', () => {
  it('409: an equal job is running', async () => {
    const tenant = await createTenantOf(test, ['en', 'de']);
    const { translate, createTags, jobs, resume } = stepsOf(test, tenant);
    await createTags(210);
    await translate({ entity_type: 'tag' });
    const [{ id }] = (await jobs('?status=failed')).body.data;
    await provideTranslator(test, tenant);
    jobIn(await translate({ entity_type: 'tag' }));
    const refused = await resume(id);
    expectError(refused, 409, 'CONFLICT', 'JOB_ALREADY_RUNNING');
    expect(refused.headers['retry-after']).toBe('60');
  });
});

describe('listTranslationJobs', () => {
  it('200: newest first, in pages, by status and type', async () => {
    const { translate, createTags, jobs } = await begin();
    await createTags(1);
    for (const entity_type of ['tag', 'category', 'tag']) await translate({ entity_type });
    const types = async (query: string) =>
      (await jobs(query)).body.data.map(({ entity_type }: { entity_type: string }) => entity_type);
    expect(await types('')).toEqual(['tag', 'category', 'tag']);
    expect(await types('?limit=1&offset=1')).toEqual(['category']);
    expect(await types('?entity_type=tag&status=completed')).toEqual(['tag', 'tag']);
    expect(await types('?status=running')).toEqual([]);
    expect((await jobs('?limit=1')).body.pagination).toEqual({ total: 3, limit: 1, offset: 0, hasMore: true });
    expectError(await jobs('?status=lost'), 400, 'VALIDATION_ERROR');
  });

  it("401, 403, 404: without credentials or permission, and another tenant's", async () => {
    const { tenant, translate, createTags, jobs, job, cancel, resume } = await begin();
    await createTags(1);
    await translate({ entity_type: 'tag' });
    const [{ id }] = (await jobs()).body.data;
    const member = { token: (await createMember(test, tenant)).token };
    const stranger = { token: (await createTenant(test)).admin.token };
    expectError(await jobs('', {}), 401, 'AUTHENTICATION_ERROR');
    expectError(await jobs('', member), 403, 'AUTHORIZATION_ERROR');
    expect((await jobs('', stranger)).body.data).toEqual([]);
    for (const act of [job, cancel, resume]) {
      expectError(await act(id, {}), 401, 'AUTHENTICATION_ERROR');
      expectError(await act(id, member), 403, 'AUTHORIZATION_ERROR');
      expectError(await act(id, stranger), 404, 'NOT_FOUND');
    }
  });
});
