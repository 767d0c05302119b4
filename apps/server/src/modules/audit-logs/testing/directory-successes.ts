import { unique, type Tenant } from '#test/support/factories';
import type { TestService } from '#test/support/harness';

const base = '/api/v1/secure';

type Change = {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  body?: unknown;
  status: number;
  resourceType: string;
  resourceId?: string;
  fields?: string[];
};

const resourceFields = {
  name: 'canary',
  description: 'canary',
  serial: 'canary',
  translations_i18n: { de: { name: 'canary' } },
  properties: { canary: 'canary' },
};
const typeFields = () => ({ key: unique('canary'), name: 'canary', json_schema: { title: 'canary' } });
const tagFields = () => ({ name: unique('canary'), translations_i18n: { de: { name: 'canary' } } });

/** Successful calls of all recorded operations on types, resources, tags, feedback and QR codes. */
export function directorySuccesses(test: TestService, tenant: () => Tenant): Record<string, () => Promise<Change>> {
  const create = async (url: string, body: unknown): Promise<string> =>
    (await test.call('POST', url, { token: tenant().admin.token, body })).body.data.id;
  const make = {
    type: () => create(`${base}/type-definitions`, { entity_type: 'space', ...typeFields() }),
    space: () => create(`${base}/spaces`, { name: 'Hall' }),
    resource: () => create(`${base}/resources`, resourceFields),
    tag: () => create(`${base}/tags`, tagFields()),
    qrCode: () => create(`${base}/qr-codes`, { label: 'canary' }),
  };
  const added = (collection: string, resourceType: string, body: unknown): Promise<Change> =>
    Promise.resolve({ method: 'POST', url: `${base}/${collection}`, status: 201, resourceType, body });
  const patched = (url: string, resource: Pick<Change, 'resourceType' | 'resourceId'>, body: object): Change => ({
    method: 'PATCH',
    url: `${base}/${url}`,
    status: 200,
    body,
    fields: Object.keys(body),
    ...resource,
  });
  const gone = (url: string, resourceType: string, resourceId: string): Change => ({
    method: 'DELETE',
    url: `${base}/${url}/${resourceId}`,
    status: 204,
    resourceType,
    resourceId,
  });
  const tagging = async (method: 'PUT' | 'DELETE', kind: 'space' | 'resource'): Promise<Change> => {
    const tagId = await make.tag();
    const resourceId = await make[kind]();
    const url = `${base}/${kind}s/${resourceId}/tags/${tagId}`;
    if (method === 'DELETE') await test.call('PUT', url, { token: tenant().admin.token });
    return { method, url, status: 204, resourceType: kind, resourceId };
  };
  return {
    createTypeDefinition: () =>
      added('type-definitions', 'type_definition', { entity_type: 'resource', ...typeFields() }),
    updateTypeDefinition: async () => {
      const resourceId = await make.type();
      return patched(`type-definitions/${resourceId}`, { resourceType: 'type_definition', resourceId }, typeFields());
    },
    deleteTypeDefinition: async () => gone('type-definitions', 'type_definition', await make.type()),
    createResource: () => added('resources', 'resource', resourceFields),
    updateResource: async () => {
      const resourceId = await make.resource();
      const body = { ...resourceFields, parent_id: await make.resource(), space_id: await make.space() };
      return patched(`resources/${resourceId}`, { resourceType: 'resource', resourceId }, body);
    },
    deleteResource: async () => gone('resources', 'resource', await make.resource()),
    createTag: () => added('tags', 'tag', tagFields()),
    updateTag: async () => {
      const resourceId = await make.tag();
      return patched(`tags/${resourceId}`, { resourceType: 'tag', resourceId }, tagFields());
    },
    deleteTag: async () => gone('tags', 'tag', await make.tag()),
    tagSpace: () => tagging('PUT', 'space'),
    untagSpace: () => tagging('DELETE', 'space'),
    tagResource: () => tagging('PUT', 'resource'),
    untagResource: () => tagging('DELETE', 'resource'),
    createFeedback: async () => {
      const entity = { entity_type: 'space', entity_id: await make.space() };
      return added('feedbacks', 'feedback', { ...entity, message: 'canary' });
    },
    updateFeedback: async () => {
      const entity = { entity_type: 'space', entity_id: await make.space() };
      const resourceId = await create(`${base}/feedbacks`, { ...entity, message: 'canary' });
      return patched(`feedbacks/${resourceId}`, { resourceType: 'feedback', resourceId }, { status: 'resolved' });
    },
    createQrCode: () => added('qr-codes', 'qr_code', { label: 'canary' }),
    assignQrCode: async () => {
      const resourceId = await make.qrCode();
      const body = { entity_type: 'resource', entity_id: await make.resource() };
      const url = `${base}/qr-codes/${resourceId}/assign`;
      return { method: 'POST', url, status: 200, body, resourceType: 'qr_code', resourceId };
    },
    deleteQrCode: async () => gone('qr-codes', 'qr_code', await make.qrCode()),
  };
}
