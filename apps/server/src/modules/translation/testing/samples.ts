import { expect } from 'vitest';

import { translationSuccesses } from '#modules/translation/testing/entity-successes';
import { translationJobSuccesses } from '#modules/translation/testing/job-successes';
import { insertTranslationRows } from '#modules/translation/testing/rows';
import { withClient } from '#test/support/database';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    translateText: () => ({ text: 'Hall', source_language: 'en', target_language: 'de', preserve_html: true }),
    translateI18n: () => ({
      i18n_data: { en: { name: 'Hall', description: 'For many' }, de: { name: null } },
      source_language: 'en',
      target_languages: ['de'],
    }),
    translateEntity: ({ spaceId }) => ({
      entity_type: 'space',
      entity_id: spaceId,
      source_language: 'en',
      target_languages: ['de'],
    }),
    translateEntityType: ({ spaceId }) => ({
      entity_type: 'space',
      entity_ids: [spaceId],
      source_language: 'en',
      target_languages: ['de'],
    }),
  },
  ids: {
    'translateEntity body.entity_id': 'space',
    'listTranslationMarks query.entity_id': 'space',
    'translateEntityType body.entity_ids[]': 'space',
    'getTranslationJob params.id': 'translationJob',
    'cancelTranslationJob params.id': 'translationJob',
    'resumeTranslationJob params.id': 'translationJob',
  },
  queries: {
    listTranslationMarks: '&entity_type=space',
  },
  records: async ({ test, tenant: { tenantId, admin } }) => {
    const { token } = admin;
    // A job without texts to translate.
    const body = { entity_type: 'space', target_languages: ['en'] };
    const started = await test.call('POST', '/api/v1/secure/ai/translate/entity-type', { token, body });
    expect(started).toMatchObject({ status: 200 });
    const jobs = await test.call('GET', '/api/v1/secure/ai/translate/jobs', { token });
    await withClient(test.connection, (client) => insertTranslationRows(client, tenantId));
    return { translationJob: jobs.body.data[0].id };
  },
  tools: ({ made }) => ({
    translateText: () => Promise.resolve({ text: 'Hello', source_language: 'en', target_language: 'de' }),
    translateEntity: async () => ({ entity_type: 'space', entity_id: await made('spaces'), target_languages: ['de'] }),
    listTranslationMarks: () => Promise.resolve({ entity_type: 'space' }),
  }),
  successes: (context) => ({ ...translationJobSuccesses(context), ...translationSuccesses(context) }),
};
