import { unique } from '#test/support/factories';
import type { SampleContext, Successes } from '#test/support/samples';

const types = '/api/v1/secure/type-definitions';
const resourceType = 'type_definition';
const fields = () => ({ key: unique('canary'), name: 'canary', json_schema: { title: 'canary' } });

/** Successful calls of all recorded operations on types. */
export function typeDefinitionSuccesses({ create }: SampleContext): Successes {
  const onNewType = async () => {
    const resourceId = await create(types, { entity_type: 'space', ...fields() });
    return { url: `${types}/${resourceId}`, resourceType, resourceId };
  };
  return {
    createTypeDefinition: () =>
      Promise.resolve({
        method: 'POST',
        url: types,
        status: 201,
        body: { entity_type: 'resource', ...fields() },
        resourceType,
      }),
    updateTypeDefinition: async () => {
      const body = fields();
      return { method: 'PATCH', status: 200, body, fields: Object.keys(body), ...(await onNewType()) };
    },
    deleteTypeDefinition: async () => ({ method: 'DELETE', status: 204, ...(await onNewType()) }),
  };
}
