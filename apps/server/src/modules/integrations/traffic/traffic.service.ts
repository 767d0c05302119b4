import { systemTenantId } from '#core/base/access/principal';
import { pageOfMatches, type Total } from '#core/data/db/totals';
import { parseSort, type SetHeader } from '#core/http/paging';
import type { OperationKey } from '#modules/connectors/index';
import { reachOf, seesAllTenants, type Reach, type Scope } from '#modules/integrations/reach';
import { countStatuses, listHealth, type HealthRow } from '#modules/integrations/traffic/connectors.queries';
import {
  countCalls,
  countEvents,
  countHours,
  listAlerts,
  listCalls,
  listFailedCalls,
  listHours,
  sumHours,
  type CallRow,
  type EventRow,
  type HourRow,
} from '#modules/integrations/traffic/traffic.queries';
import { beginOfHour, dayMs, lastDay, periodOf, rateOf } from '#modules/integrations/traffic/traffic.rules';
import type { ListCallsQuery, ListMetricsQuery, ReachQuery } from '#modules/integrations/traffic/traffic.schemas';

type Reader = Scope & { setHeader: SetHeader };

const max = { failures: 50, alerts: 50, healthChecks: 200 };
const diagnosedMs = 7 * dayMs;
/** Health checks, which run every minute for each connector and would hide other calls. */
const checking: OperationKey = 'connectors.check';

/** @throws PeriodInvalid, PeriodTooLong */
export async function searchCalls(scope: Reader, query: ListCallsQuery) {
  const { limit = 50, offset = 0 } = query;
  const { db, ...filters } = filtersOf(scope, query);
  const { descending } = parseSort(query.sort) ?? { descending: true };
  await scope.services.callLog.flush();
  const rows = listCalls(filters, { limit, offset, descending });
  const found = await pageOfMatches(db, rows, countCalls(filters), { limit, offset });
  return toPage(scope, { ...found, rows: found.rows.map(presentCall) }, { limit, offset });
}

/** @throws PeriodInvalid, PeriodTooLong */
export async function searchMetrics(scope: Reader, query: ListMetricsQuery) {
  const { limit = 50, offset = 0 } = query;
  const { db, ...rest } = filtersOf(scope, query);
  const filters = { ...rest, from: beginOfHour(rest.from) };
  const order = parseSort(query.sort) ?? { column: 'hour', descending: true };
  await scope.services.callLog.flush();
  const rows = listHours(filters, { limit, offset, order });
  const found = await pageOfMatches(db, rows, countHours(filters), { limit, offset });
  return toPage(scope, { ...found, rows: found.rows.map(presentHour) }, { limit, offset });
}

function filtersOf(scope: Scope, query: Omit<ListCallsQuery, 'sort'>) {
  const { db, tenantId } = reachOf(scope, query.tenantId);
  const period = periodOf(query, { isOfAll: tenantId === undefined, now: scope.services.now() });
  const { operation_key: operationKey, provider, status } = query;
  return { db, tenantId, ...period, operationKey, provider, status };
}

function toPage<Item>(
  { setHeader }: Reader,
  { rows, total, isCapped }: { rows: Item[] } & Total,
  page: { limit: number; offset: number },
) {
  if (isCapped) setHeader('x-total-capped', 'true');
  return { data: rows, total, ...page };
}

export async function getOverview(scope: Scope, query: ReachQuery) {
  const { db, tenantId } = reachOf(scope, query.tenantId);
  const day = { ...lastDay(scope.services.now()), tenantId };
  await scope.services.callLog.flush();
  const [all, [events]] = await db.interactive.batch([sumHours(day), countEvents(day)]);
  const sums = all.filter((row) => row.operation_key !== checking);
  const requests = sums.reduce((sum, row) => sum + row.requests, 0);
  const successes = sums.reduce((sum, row) => sum + row.successes, 0);
  const data = {
    total_requests_24h: requests,
    success_requests_24h: successes,
    failure_requests_24h: requests - successes,
    success_rate_24h: rateOf({ requests, successes }),
    warning_state_events_24h: events!.warnings,
    error_state_events_24h: events!.errors,
    health_status: await countHealth(scope, { db, tenantId }),
  };
  return { data };
}

async function countHealth(scope: Scope, { db, tenantId }: Reach) {
  const counts = { active: 0, degraded: 0, offline: 0, error: 0, unknown: 0 };
  const own = await db.interactive.all(countStatuses(tenantId));
  const shared = isShownShared(tenantId) ? await platform(scope).interactive.all(countStatuses(systemTenantId)) : [];
  for (const { status, connectors } of [...own, ...shared]) counts[status] += connectors;
  return counts;
}

export async function getDiagnostics(scope: Scope, query: ReachQuery) {
  const { db, tenantId } = reachOf(scope, query.tenantId);
  const now = scope.services.now();
  const period = { from: new Date(now.getTime() - diagnosedMs).toISOString(), to: lastDay(now).to, tenantId };
  await scope.services.callLog.flush();
  const [failures, alerts, own] = await db.interactive.batch([
    listFailedCalls({ ...period, besides: checking }, max.failures),
    listAlerts(period, max.alerts),
    listHealth(tenantId, max.healthChecks),
  ]);
  const shared = isShownShared(tenantId)
    ? await platform(scope).interactive.all(listHealth(systemTenantId, max.healthChecks))
    : [];
  const isOwner = seesAllTenants(scope.db, scope.actor);
  const checks = [...own, ...shared].toSorted(byLatestCheck).slice(0, max.healthChecks);
  const data = {
    recent_failures: failures.map(presentCall),
    recent_state_alerts: alerts.map(presentAlert),
    latest_health_checks: checks.map((row) => presentHealth(row, isOwner || row.tenant_id !== systemTenantId)),
  };
  return { data };
}

/** All tenants see the health of the installation's connectors, which serve them too. */
function isShownShared(tenantId: string | undefined): boolean {
  return tenantId !== undefined && tenantId !== systemTenantId;
}

function platform({ services }: Scope) {
  return services.database.platform();
}

function byLatestCheck(left: HealthRow, right: HealthRow): number {
  return Date.parse(right.last_health_check ?? '1970-01-01') - Date.parse(left.last_health_check ?? '1970-01-01');
}

export function presentCall(row: CallRow) {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    timestamp: row.called_at,
    operation_key: row.operation_key,
    connector_id: row.connector_id,
    provider: row.provider,
    status: row.outcome,
    failure: row.failure,
    http_status: row.http_status,
    latency_ms: row.latency_ms,
    own_credentials: row.own_credentials,
    characters: row.characters,
    tokens: row.tokens,
    request_id: row.request_id,
    user_id: row.user_id,
  };
}

export function presentHour(row: HourRow) {
  const { requests, successes } = row;
  return {
    hour: row.hour,
    tenantId: row.tenant_id,
    operation_key: row.operation_key,
    provider: row.provider,
    requests,
    successes,
    failures: row.failures,
    rate_limited: row.rate_limited,
    cache_hits: row.cache_hits,
    success_rate: rateOf({ requests, successes }),
    avg_latency_ms: requests === 0 ? null : Math.round(row.latency_ms / requests),
    characters: row.characters,
    tokens: row.tokens,
  };
}

function presentAlert(row: EventRow) {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    timestamp: row.occurred_at,
    connector_id: row.connector_id,
    provider: row.provider,
    from_status: row.from_status,
    to_status: row.to_status,
    severity: row.severity,
    reason: row.reason,
    message: row.message,
  };
}

function presentHealth(row: HealthRow, isFull: boolean) {
  return {
    id: row.id,
    tenantId: row.tenant_id === systemTenantId ? null : row.tenant_id,
    api_key: row.api_key,
    api_name: row.api_name,
    status: row.status,
    enabled: row.enabled,
    auto_disabled: row.auto_disabled,
    consecutive_failures: row.consecutive_failures,
    last_health_check: row.last_health_check,
    last_latency_ms: row.last_latency_ms,
    retry_at: row.retry_at,
    error_message: isFull ? row.error_message : null,
  };
}
