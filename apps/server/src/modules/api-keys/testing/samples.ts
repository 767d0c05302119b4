import { apiKeySuccesses } from '#modules/api-keys/testing/successes';
import type { Body, Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    createApiKey: () => ({ ...apiKeyFields(), expires_at: '2999-01-01T00:00:00Z' }),
    updateApiKey: () => ({ ...apiKeyFields(), expires_at: null, enabled: true, mcp_write_enabled: true }),
    rotateApiKey: () => ({}),
  },
  ids: {
    'getApiKey params.id': 'apiKey',
    'getApiKeyUsage params.id': 'apiKey',
    'updateApiKey params.id': 'apiKey',
    'deleteApiKey params.id': 'apiKey',
    'rotateApiKey params.id': 'apiKey',
    'deletePreviousSecret params.id': 'apiKey',
  },
  records: async ({ create, secret }) => ({ apiKey: await create('/api/v1/secure/api-keys', { name: secret }) }),
  successes: apiKeySuccesses,
};

function apiKeyFields(): Body {
  return {
    name: 'Door',
    description: 'The reader at the front door',
    permissions: {
      resources: { read: true, write: false, delete: false, properties: ['serial'] },
      users: { read: true },
    },
    ip_whitelist: ['192.0.2.7', '2001:db8::/32'],
    device_fingerprint: 'reader 7',
  };
}
