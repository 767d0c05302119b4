import { newId } from '#core/base/crypto/ids';
import { sealCustomerCredentials } from '#modules/connectors/overrides/customer-credentials';
import type { TestService } from '#test/support/harness';

type Given = {
  enabled?: boolean;
  order?: string[];
  quotaLimits?: Record<string, unknown>;
  credentials?: Record<string, unknown>;
  operation?: string;
};

/** An override as the control plane writes it. */
export async function override(test: TestService, tenantId: string, given: Given): Promise<string> {
  const { enabled = true, order = [], quotaLimits = {}, credentials = {}, operation = 'geocoding.search' } = given;
  const overrideId = newId();
  const { services } = test.service;
  const sealed = await sealCustomerCredentials(services, {
    tenantId,
    overrideId,
    sent: credentials,
    order,
    stored: null,
  });
  await services.database.tenant(tenantId).interactive.all({
    kind: 'write',
    text: `insert into operation_overrides (tenant_id, id, operation_key, enabled, preferred_provider_order, quota_limits,
             customer_credentials, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, now(), now())
           on conflict (tenant_id, operation_key) do update set id = excluded.id, enabled = excluded.enabled,
             preferred_provider_order = excluded.preferred_provider_order, quota_limits = excluded.quota_limits,
             customer_credentials = excluded.customer_credentials`,
    values: [tenantId, overrideId, operation, enabled, order, JSON.stringify(quotaLimits), sealed],
    prepare: false,
  });
  return overrideId;
}
