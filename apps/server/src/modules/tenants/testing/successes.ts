import type { SampleContext, Successes } from '#test/support/samples';

/** Successful calls of the operations on tenants that are recorded in the tenant itself. */
export function tenantSuccesses({ tenant }: SampleContext): Successes {
  return {
    updateTenant: () => {
      const url = `/api/v1/secure/tenants/${tenant.tenantId}`;
      const body = { name: 'canary', settings: { twoFactorGraceDays: 7 } };
      const recorded = { resourceType: 'tenant', fields: Object.keys(body) };
      return Promise.resolve({ method: 'PATCH', url, status: 200, body, ...recorded });
    },
  };
}
