import { typeDefinitionSuccesses } from '#modules/type-definitions/testing/successes';
import { unique } from '#test/support/factories';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    createTypeDefinition: () => ({ entity_type: 'space', ...typeFields() }),
    updateTypeDefinition: typeFields,
  },
  ids: {
    'getTypeDefinition params.id': 'type',
    'updateTypeDefinition params.id': 'type',
    'deleteTypeDefinition params.id': 'type',
  },
  records: async ({ create, secret }) => {
    const type = { entity_type: 'resource', key: unique('type'), name: secret, json_schema: {} };
    return { type: await create('/api/v1/secure/type-definitions', type) };
  },
  tools: ({ of }) => ({
    listTypeDefinitions: () => Promise.resolve({}),
    getTypeDefinition: of('types'),
  }),
  successes: typeDefinitionSuccesses,
};

function typeFields(): Body {
  return {
    key: unique('type'),
    name: 'Meeting room',
    description: 'With a table',
    json_schema: { type: 'object', properties: { seats: { type: 'integer' } } },
  };
}
