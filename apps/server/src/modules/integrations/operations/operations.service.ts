import { systemTenantId } from '#core/base/access/principal';
import { isOperationKey, operations, termsOf, type OperationKey, type Terms } from '#modules/connectors/index';
import { OperationNotFound } from '#modules/integrations/integrations.errors';
import { quotasOf } from '#modules/integrations/operations/quotas.service';
import { findOverrides, type OverrideRow } from '#modules/integrations/overrides/overrides.queries';
import { reachOf, type Reach, type Scope } from '#modules/integrations/reach';
import { listCalls, listHours, sumHours, type Sums } from '#modules/integrations/traffic/traffic.queries';
import { dayMs, lastDay } from '#modules/integrations/traffic/traffic.rules';
import type { ReachQuery } from '#modules/integrations/traffic/traffic.schemas';
import { presentCall, presentHour } from '#modules/integrations/traffic/traffic.service';

const keys = Object.keys(operations) as OperationKey[];
const max = { calls: 50, hours: 500 };
const recentMs = 7 * dayMs;

/** All operations with their calls in the last 24 hours, and whether the tenant may use them. */
export async function listOperations(scope: Scope, query: ReachQuery) {
  const reach = reachOf(scope, query.tenantId);
  const { tenantId } = reach;
  const day = { ...lastDay(scope.services.now()), tenantId };
  await scope.services.callLog.flush();
  const [sums, overrides] = await Promise.all([reach.db.interactive.all(sumHours(day)), overridesOf(scope, reach)]);
  return { data: keys.map((key) => summaryOf(key, termsIn(overrides, key), sums)) };
}

/** @throws OperationNotFound */
export async function getOperation(scope: Scope, operationKey: string, query: ReachQuery) {
  if (!isOperationKey(operationKey)) throw OperationNotFound();
  const { services } = scope;
  const reach = reachOf(scope, query.tenantId);
  const { db, tenantId } = reach;
  const now = services.now();
  const day = { ...lastDay(now), tenantId, operationKey };
  const recent = { ...day, from: new Date(now.getTime() - recentMs).toISOString() };
  await services.callLog.flush();
  const [sums, metrics, calls] = await db.interactive.batch([
    sumHours(day),
    listHours(day, { limit: max.hours, offset: 0 }),
    listCalls(recent, { limit: max.calls, offset: 0 }),
  ]);
  const overrides = await overridesOf(scope, reach);
  const { quotaLimits, ...terms } = termsIn(overrides, operationKey);
  const operation = {
    ...summaryOf(operationKey, terms, sums),
    id: operations[operationKey].id,
    override_id: overrides.own.find((row) => row.operation_key === operationKey)?.id ?? null,
    preferred_provider_order: [...terms.order],
    quotas: tenantId === undefined ? [] : await quotasOf(services, { db, tenantId, operationKey, quotaLimits }),
  };
  return { data: { operation, metrics: metrics.map(presentHour), recent_logs: calls.map(presentCall) } };
}

function summaryOf(key: OperationKey, { isEnabled }: Pick<Terms, 'isEnabled'>, sums: readonly Sums[]) {
  const { name, domain, isSystemScoped } = operations[key];
  const { requests, successes } = sums.find((row) => row.operation_key === key) ?? { requests: 0, successes: 0 };
  return {
    operation_key: key,
    operation_name: name,
    operation_domain: domain,
    enabled: isEnabled,
    system_scoped: isSystemScoped,
    request_count_24h: requests,
    failure_count_24h: requests - successes,
  };
}

type Overrides = { own: readonly OverrideRow[]; rules: readonly OverrideRow[] };

/** Overrides of the tenant and of the installation; over all tenants only the latter. */
async function overridesOf({ services }: Scope, { db, tenantId }: Reach): Promise<Overrides> {
  const [own, rules] = await Promise.all([
    db.interactive.all(findOverrides({ tenantId: tenantId ?? systemTenantId })),
    services.database.platform().interactive.all(findOverrides({ tenantId: systemTenantId })),
  ]);
  return { own, rules };
}

function termsIn({ own, rules }: Overrides, key: OperationKey): Terms {
  const of = (rows: readonly OverrideRow[]) => rows.find((row) => row.operation_key === key);
  return termsOf(of(own), of(rules));
}
