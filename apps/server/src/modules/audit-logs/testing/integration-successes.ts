const path = '/api/v1/secure/admin/external-apis/control-plane/tenant-overrides';
const resourceType = 'tenant_override';

type Change = {
  method: 'PUT' | 'DELETE';
  url: string;
  body?: unknown;
  status: number;
  resourceType: string;
  resourceId?: string;
  fields?: string[];
};

const override = (tenantId: string) => ({
  tenantId,
  operation_key: 'models.list',
  enabled: true,
  preferred_provider_order: ['canary'],
  quota_ceiling: { canary: 'canary' },
  override_config: { canary: 'canary' },
  customer_credentials: { canary: { canary: 'canary' } },
});

/** Successful calls of all recorded operations on tenant overrides; `save` returns the new id. */
export function integrationSuccesses(
  tenantId: () => string,
  save: (url: string, body: unknown) => Promise<string>,
): Record<string, () => Promise<Change>> {
  return {
    saveTenantOverride: () => {
      const body = override(tenantId());
      return Promise.resolve({ method: 'PUT', url: path, status: 200, body, resourceType, fields: Object.keys(body) });
    },
    deleteTenantOverride: async () => {
      const resourceId = await save(path, override(tenantId()));
      return { method: 'DELETE', url: `${path}/${resourceId}`, status: 204, resourceType, resourceId };
    },
  };
}
