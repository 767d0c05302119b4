import { apiKeys, createKey, rotateKey } from '#modules/api-keys/testing/keys';
import type { SampleContext, Successes } from '#test/support/samples';

const fields = {
  name: 'canary',
  description: 'canary',
  permissions: { resources: { read: true, properties: ['canary'] } },
  device_fingerprint: 'canary',
};

/** Successful calls of the recorded API key operations. */
export function apiKeySuccesses({ test, tenant }: SampleContext): Successes {
  const resourceType = 'api_key';
  const onNewKey = async () => {
    const { id: resourceId } = await createKey(test, tenant.admin);
    return { resourceType, resourceId, url: `${apiKeys}/${resourceId}` };
  };
  return {
    createApiKey: () =>
      Promise.resolve({
        method: 'POST' as const,
        url: apiKeys,
        status: 201,
        body: fields,
        resourceType,
        fields: Object.keys(fields),
      }),
    updateApiKey: async () => ({
      method: 'PATCH' as const,
      status: 200,
      body: fields,
      fields: Object.keys(fields),
      ...(await onNewKey()),
    }),
    deleteApiKey: async () => ({ method: 'DELETE' as const, status: 204, ...(await onNewKey()) }),
    rotateApiKey: async () => {
      const { url, ...key } = await onNewKey();
      return { method: 'POST' as const, status: 200, body: {}, url: `${url}/rotate`, ...key };
    },
    deletePreviousSecret: async () => {
      const { url, ...key } = await onNewKey();
      await rotateKey(test, tenant, key.resourceId, 60);
      return { method: 'DELETE' as const, status: 204, url: `${url}/previous-secret`, ...key };
    },
  };
}
