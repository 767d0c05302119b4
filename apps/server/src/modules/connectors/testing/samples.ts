import { insertProviderRows } from '#modules/connectors/testing/rows';
import { connectorSuccesses } from '#modules/connectors/testing/successes';
import { withClient } from '#test/support/database';
import { unique } from '#test/support/factories';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    createConnector: () => ({ api_key: unique('api'), ...connectorFields() }),
    updateConnector: () => connectorFields(),
  },
  ids: {
    'getConnector params.id': 'connector',
    'updateConnector params.id': 'connector',
    'deleteConnector params.id': 'connector',
    'enableConnector params.id': 'connector',
    'disableConnector params.id': 'connector',
    'testConnector params.id': 'connector',
  },
  records: async ({ test, tenant: { tenantId }, create, secret }) => {
    const connector = { api_key: unique('api'), api_name: secret, api_base_url: `https://${unique('api')}.example` };
    await withClient(test.connection, (client) => insertProviderRows(client, tenantId));
    return { connector: await create('/api/v1/secure/ai/providers', connector) };
  },
  successes: connectorSuccesses,
};

function connectorFields(): Body {
  return {
    api_name: 'Messages',
    api_base_url: 'https://messages.example.com/v1',
    config: { adapter: 'webhook', channels: ['sms'] },
    auth_config: { header: 'X-Token', token: 'not a secret', secret: 'nor this' },
    enabled: true,
    priority: 10,
    description: 'Carries codes',
    tags: ['codes'],
    category: 'communication',
  };
}
