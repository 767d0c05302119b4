import { resourceSuccesses } from '#modules/resources/testing/successes';
import { spaceFields } from '#modules/spaces/testing/samples';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    createResource: ({ spaceId }) => ({ name: 'Projector', ...resourceFields(spaceId) }),
    updateResource: () => ({ name: 'Projector', ...resourceFields(null) }),
  },
  ids: {
    'getResource params.id': 'resource',
    'createResource body.parent_id': 'resource',
    'createResource body.type_id': 'type',
    'createResource body.space_id': 'space',
    'updateResource params.id': 'resource',
    'updateResource body.parent_id': 'resource',
    'updateResource body.type_id': 'type',
    'updateResource body.space_id': 'space',
    'deleteResource params.id': 'resource',
    'listResources query.parent_id': 'resource',
    'listResources query.type_id': 'type',
    'listResources query.tag_id': 'tag',
    'listResources query.space_id': 'space',
  },
  records: async ({ create, ids, secret }) => {
    const resource = await create('/api/v1/secure/resources', { name: secret, space_id: ids.space });
    await create('/api/v1/secure/resources', { name: secret, parent_id: resource });
    return { resource };
  },
  tools: ({ made, of }) => ({
    listResources: () => Promise.resolve({ limit: 5, sort: '-name' }),
    getResource: of('resources'),
    createResource: async () => ({ name: 'Lamp', space_id: await made('spaces') }),
    updateResource: async () => ({ id: await made('resources'), status: 'maintenance' }),
    deleteResource: of('resources'),
  }),
  successes: resourceSuccesses,
};

function resourceFields(spaceId: string | null): Body {
  return { ...spaceFields(null), space_id: spaceId, serial: 'SN-0001' };
}
