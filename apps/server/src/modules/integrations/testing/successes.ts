import type { SampleContext, Successes } from '#test/support/samples';

const path = '/api/v1/secure/admin/external-apis/control-plane/tenant-overrides';
const resourceType = 'tenant_override';

const override = (tenantId: string) => ({
  tenantId,
  operation_key: 'models.list',
  enabled: true,
  preferred_provider_order: ['canary'],
  quota_ceiling: { canary: 'canary' },
  override_config: { canary: 'canary' },
  customer_credentials: { canary: { canary: 'canary' } },
});

/** Successful calls of all recorded operations on tenant overrides. */
export function integrationSuccesses({ test, tenant }: SampleContext): Successes {
  return {
    saveTenantOverride: () => {
      const body = override(tenant.tenantId);
      return Promise.resolve({ method: 'PUT', url: path, status: 200, body, resourceType, fields: Object.keys(body) });
    },
    deleteTenantOverride: async () => {
      const saved = await test.call('PUT', path, { token: tenant.admin.token, body: override(tenant.tenantId) });
      const resourceId = saved.body.data.id as string;
      return { method: 'DELETE', url: `${path}/${resourceId}`, status: 204, resourceType, resourceId };
    },
  };
}
