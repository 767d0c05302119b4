import { systemTenantId } from '#core/base/access/principal';
import { explainRoute, isOperationKey, type ExplainedProvider } from '#modules/connectors/index';
import { OperationNotFound } from '#modules/integrations/integrations.errors';
import { quotasOf } from '#modules/integrations/operations/quotas.service';
import type { Scope } from '#modules/integrations/reach';
import type { ExplainRouteBody } from '#modules/integrations/routing/routing.schemas';
import { reachTenant } from '#modules/tenants/index';

const because: Readonly<Record<ExplainedProvider['part'], string>> = {
  serves: 'It is the first connector that can be called.',
  next: 'It is called if the connectors before it fail.',
  paused:
    'It failed too often or sent Retry-After; calls skip it until retry_at. If no other connector can serve, one call at a time still tries a connector that failed, and none a connector that sent Retry-After.',
  incomplete: 'Required settings are missing; its error_message names them.',
  unusable: 'Its credentials are unusable: they belong to another address or cannot be decrypted.',
  disabled: 'It is disabled.',
  spared: 'Other connectors are called instead of it.',
  unfit: 'Its category, adapter or channels serve other operations.',
};

const becauseOfOwn =
  'With the credentials of the tenant it failed too often or sent Retry-After; this process skips it until retry_at.';

/** @throws TenantNotFound, OperationNotFound */
export async function explain(scope: Scope, body: ExplainRouteBody) {
  const { services } = scope;
  const { db } = await reachTenant(scope, body.tenantId ?? scope.db.tenantId);
  const { operation_key: operationKey } = body;
  const { tenantId } = db;
  if (!isOperationKey(operationKey)) throw OperationNotFound();
  const { isEnabled, order, quotaLimits, providers } = await explainRoute(services, {
    tenantId,
    operation: operationKey,
  });
  const quotas = await quotasOf(services, { db, tenantId, operationKey, quotaLimits });
  const isOver = quotas.some(({ remaining }) => remaining === 0);
  const served = providers.find(({ part }) => part === 'serves');
  const isServed = providers.some(({ part }) => canServe.has(part));
  const refusal = refusalOf({ isEnabled, isServed, isOver });
  const data = {
    operation_key: operationKey,
    tenantId,
    enabled: isEnabled,
    refusal,
    served_by: refusal === null ? (served?.row.api_key ?? null) : null,
    providers: providers.map((provider) => present(provider, order)),
    unknown_preferences: order.filter((key) => providers.every(({ row }) => row.api_key !== key)),
    quotas,
  };
  return { data };
}

const canServe: ReadonlySet<ExplainedProvider['part']> = new Set(['serves', 'next', 'paused', 'unusable']);

function refusalOf({ isEnabled, isServed, isOver }: { isEnabled: boolean; isServed: boolean; isOver: boolean }) {
  if (!isEnabled) return 'OPERATION_DISABLED' as const;
  if (!isServed) return 'NO_PROVIDER' as const;
  return isOver ? ('QUOTA_EXCEEDED' as const) : null;
}

/** Without address and configuration, which other tenants must not see. */
function present({ row, part, isOwnCredentials, retryAt }: ExplainedProvider, order: readonly string[]) {
  return {
    api_key: row.api_key,
    api_name: row.api_name,
    connector_id: row.id,
    level: row.tenant_id === systemTenantId ? ('system' as const) : ('tenant' as const),
    priority: row.priority,
    preferred: order.includes(row.api_key),
    own_credentials: isOwnCredentials,
    status: row.status,
    part,
    because: isOwnCredentials && part === 'paused' ? becauseOfOwn : because[part],
    retry_at: retryAt,
  };
}
