import { unique } from '#test/support/factories';
import type { SampleContext, Success, Successes } from '#test/support/samples';

const path = '/api/v1/secure/ai/providers';
const resourceType = 'provider';

const changes = {
  api_name: 'canary',
  api_base_url: 'https://canary.example/canary',
  config: { canary: 'canary' },
  auth_config: { canary: 'canary' },
  description: 'canary',
  tags: ['canary'],
  category: 'integration',
};
const newConnector = () => ({ api_key: unique('canary'), ...changes });

/** Successful calls of all recorded connector operations. */
export function connectorSuccesses({ create }: SampleContext): Successes {
  const change = async (
    method: Success['method'],
    operation: string,
    rest: Pick<Success, 'body' | 'status' | 'fields'>,
  ) => {
    const resourceId = await create(path, newConnector());
    return { method, url: `${path}/${resourceId}${operation}`, resourceType, resourceId, ...rest };
  };
  return {
    createConnector: () => {
      const body = newConnector();
      const fields = Object.keys(body);
      return Promise.resolve({ method: 'POST', url: path, status: 201, body, resourceType, fields });
    },
    updateConnector: () => change('PATCH', '', { body: changes, status: 200, fields: Object.keys(changes) }),
    deleteConnector: () => change('DELETE', '', { status: 204 }),
    enableConnector: () => change('POST', '/enable', { status: 200 }),
    disableConnector: () => change('POST', '/disable', { status: 200 }),
    testConnector: () => change('POST', '/test', { status: 200 }),
  };
}
