import { unique } from '#test/support/factories';
import type { SampleContext, Success, Successes } from '#test/support/samples';

const tags = '/api/v1/secure/tags';
const fields = () => ({ name: unique('canary'), translations_i18n: { de: { name: 'canary' } } });

/** Successful calls of all recorded operations on tags and on the tags of records. */
export function tagSuccesses({ test, tenant, create, made }: SampleContext): Successes {
  const onNewTag = async () => {
    const resourceId = await create(tags, fields());
    return { url: `${tags}/${resourceId}`, resourceType: 'tag', resourceId };
  };
  const tagging = async (method: 'PUT' | 'DELETE', kind: 'space' | 'resource'): Promise<Success> => {
    const tagId = await create(tags, fields());
    const resourceId = await made(`${kind}s`);
    const url = `/api/v1/secure/${kind}s/${resourceId}/tags/${tagId}`;
    if (method === 'DELETE') await test.call('PUT', url, { token: tenant.admin.token });
    return { method, url, status: 204, resourceType: kind, resourceId };
  };
  return {
    createTag: () => Promise.resolve({ method: 'POST', url: tags, status: 201, body: fields(), resourceType: 'tag' }),
    updateTag: async () => {
      const body = fields();
      return { method: 'PATCH', status: 200, body, fields: Object.keys(body), ...(await onNewTag()) };
    },
    deleteTag: async () => ({ method: 'DELETE', status: 204, ...(await onNewTag()) }),
    tagSpace: () => tagging('PUT', 'space'),
    untagSpace: () => tagging('DELETE', 'space'),
    tagResource: () => tagging('PUT', 'resource'),
    untagResource: () => tagging('DELETE', 'resource'),
  };
}
