import type { SampleContext, Successes } from '#test/support/samples';

const resources = '/api/v1/secure/resources';
const resourceType = 'resource';
const fields = {
  name: 'canary',
  description: 'canary',
  serial: 'canary',
  translations_i18n: { de: { name: 'canary' } },
  properties: { canary: 'canary' },
};

/** Successful calls of all recorded operations on resources. */
export function resourceSuccesses({ create, made }: SampleContext): Successes {
  const onNewResource = async () => {
    const resourceId = await create(resources, fields);
    return { url: `${resources}/${resourceId}`, resourceType, resourceId };
  };
  return {
    createResource: () => Promise.resolve({ method: 'POST', url: resources, status: 201, body: fields, resourceType }),
    updateResource: async () => {
      const body = { ...fields, parent_id: await create(resources, fields), space_id: await made('spaces') };
      return { method: 'PATCH', status: 200, body, fields: Object.keys(body), ...(await onNewResource()) };
    },
    deleteResource: async () => ({ method: 'DELETE', status: 204, ...(await onNewResource()) }),
  };
}
