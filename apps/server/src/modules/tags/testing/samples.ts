import { tagSuccesses } from '#modules/tags/testing/successes';
import { unique } from '#test/support/factories';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    createTag: tagFields,
    updateTag: tagFields,
  },
  ids: {
    'getTag params.id': 'tag',
    'updateTag params.id': 'tag',
    'deleteTag params.id': 'tag',
    'listSpaceTags params.id': 'space',
    'tagSpace params.id': 'space',
    'tagSpace params.tagId': 'tag',
    'untagSpace params.id': 'space',
    'untagSpace params.tagId': 'tag',
    'listResourceTags params.id': 'resource',
    'tagResource params.id': 'resource',
    'tagResource params.tagId': 'tag',
    'untagResource params.id': 'resource',
    'untagResource params.tagId': 'tag',
  },
  records: async ({ test, tenant, create, ids, secret }) => {
    const tag = await create('/api/v1/secure/tags', { name: unique(secret) });
    for (const tagged of [`spaces/${ids.space}`, `resources/${ids.resource}`])
      await test.call('PUT', `/api/v1/secure/${tagged}/tags/${tag}`, { token: tenant.admin.token });
    return { tag };
  },
  tools: ({ made, of }) => ({
    listTags: () => Promise.resolve({}),
    createTag: () => Promise.resolve({ name: unique('tag') }),
    listSpaceTags: of('spaces'),
    tagSpace: async () => ({ id: await made('spaces'), tagId: await made('tags') }),
    untagSpace: async () => ({ id: await made('spaces'), tagId: await made('tags') }),
    listResourceTags: of('resources'),
    tagResource: async () => ({ id: await made('resources'), tagId: await made('tags') }),
    untagResource: async () => ({ id: await made('resources'), tagId: await made('tags') }),
  }),
  successes: tagSuccesses,
};

function tagFields(): Body {
  return { name: unique('tag'), color: '#00aaff', translations_i18n: { de: { name: 'Leihe' } } };
}
