import { spaceSuccesses } from '#modules/spaces/testing/successes';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    createSpace: ({ spaceId }) => ({ name: 'Room', ...spaceFields(spaceId) }),
    updateSpace: () => ({ name: 'Room', ...spaceFields(null) }),
  },
  ids: {
    'updateSpace body.type_id': 'type',
    'createSpace body.type_id': 'type',
    'listSpaces query.type_id': 'type',
    'listSpaces query.tag_id': 'tag',
    'getSpace params.id': 'space',
    'updateSpace params.id': 'space',
    'updateSpace body.parent_id': 'space',
    'deleteSpace params.id': 'space',
    'createSpace body.parent_id': 'space',
    'listSpaces query.parent_id': 'space',
  },
  records: async ({ create, secret }) => {
    const space = await create('/api/v1/secure/spaces', { name: secret });
    await create('/api/v1/secure/spaces', { name: secret, parent_id: space });
    return { space };
  },
  tools: ({ made, of }) => ({
    listSpaces: () => Promise.resolve({ limit: 5, search: 'hall', parent_id: 'null' }),
    getSpace: of('spaces'),
    createSpace: async () => ({
      name: 'Hall',
      parent_id: await made('spaces'),
      capacity: 4,
      geo: { lat: 48, lng: 16 },
    }),
    updateSpace: async () => ({ id: await made('spaces'), description: 'Tall' }),
    deleteSpace: of('spaces'),
  }),
  successes: spaceSuccesses,
};

export function spaceFields(parentId: string | null): Body {
  return {
    parent_id: parentId,
    type_id: null,
    description: 'On the first floor',
    translations_i18n: { de: { name: 'Raum', description: null } },
    capacity: 12,
    address: { street: 'Main Street', street_number: '1', city: 'Vienna', country_code: 'AT', floor: '1' },
    geo: { lat: 48.2, lng: 16.4 },
    timezone: 'Europe/Vienna',
    status: 'active',
    properties: { projector: true, seats: { fixed: 12 } },
  };
}
