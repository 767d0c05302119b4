import type { SampleContext, Successes } from '#test/support/samples';

const spaces = '/api/v1/secure/spaces';
const resourceType = 'space';
const fields = {
  name: 'canary',
  description: 'canary',
  translations_i18n: { de: { name: 'canary' } },
  properties: { canary: 'canary' },
};

/** Successful calls of all recorded operations on spaces. */
export function spaceSuccesses({ made }: SampleContext): Successes {
  const onNewSpace = async () => {
    const resourceId = await made('spaces');
    return { url: `${spaces}/${resourceId}`, resourceType, resourceId };
  };
  return {
    createSpace: () => Promise.resolve({ method: 'POST', url: spaces, status: 201, body: fields, resourceType }),
    updateSpace: async () => {
      const body = { ...fields, parent_id: await made('spaces') };
      return { method: 'PATCH', status: 200, body, fields: Object.keys(body), ...(await onNewSpace()) };
    },
    deleteSpace: async () => ({ method: 'DELETE', status: 204, ...(await onNewSpace()) }),
  };
}
