import { expect } from 'vitest';

import { integrationSuccesses } from '#modules/integrations/testing/successes';
import type { Samples } from '#test/support/samples';

const overrides = '/api/v1/secure/admin/external-apis/control-plane/tenant-overrides';

export const samples: Samples = {
  bodies: {
    explainProviderRoute: ({ tenant }) => ({ operation_key: 'translation.text', tenantId: tenant.tenantId }),
    saveTenantOverride: ({ tenant }) => ({
      tenantId: tenant.tenantId,
      operation_key: 'translation.text',
      enabled: true,
      preferred_provider_order: ['openai', 'deepl'],
      quota_ceiling: { requests_per_day: 1000, characters_per_month: 500_000 },
      override_config: { note: 'as agreed' },
      customer_credentials: { openai: { token: 'not a secret' } },
    }),
  },
  ids: {
    'listOperations query.tenantId': 'tenant',
    'getOperation query.tenantId': 'tenant',
    'getIntegrationOverview query.tenantId': 'tenant',
    'listProviderMetrics query.tenantId': 'tenant',
    'listProviderCalls query.tenantId': 'tenant',
    'getIntegrationDiagnostics query.tenantId': 'tenant',
    'listTenantOverrides query.tenantId': 'tenant',
    'explainProviderRoute body.tenantId': 'tenant',
    'saveTenantOverride body.tenantId': 'tenant',
    'deleteTenantOverride params.id': 'tenantOverride',
  },
  records: async ({ test, tenant: { tenantId, admin }, secret }) => {
    const override = { tenantId, operation_key: 'translation.i18n', override_config: { secret }, enabled: true };
    const saved = await test.call('PUT', overrides, { token: admin.token, body: override });
    expect(saved.status).toBe(200);
    return { tenantOverride: saved.body.data.id, 'getOperation params.operationKey': 'translation.i18n' };
  },
  successes: integrationSuccesses,
};
