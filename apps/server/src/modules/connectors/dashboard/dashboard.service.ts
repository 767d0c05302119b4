import { systemTenantId } from '#core/base/access/principal';
import type { TenantDb } from '#core/data/db/scopes';
import { percentOf } from '#core/platform/metrics/percent.rules';
import type { Services } from '#core/platform/services';
import {
  listForDashboard,
  listRecentCalls,
  sumCalls,
  type Listed,
  type Sums,
} from '#modules/connectors/dashboard/dashboard.queries';

type Dependencies = Pick<Services, 'callLog' | 'database' | 'now'>;

const dayMs = 24 * 60 * 60_000;
const hourMs = 60 * 60_000;
const recentCalls = 20;

/** Connectors of the tenant and of the installation by name, with the tenant's calls of the last 24 hours. */
export async function getConnectorDashboard({ db, services }: { db: TenantDb; services: Dependencies }) {
  const { tenantId } = db;
  await services.callLog.flush();
  const since = new Date(services.now().getTime() - dayMs);
  const sinceHour = new Date(Math.floor(since.getTime() / hourMs) * hourMs).toISOString();
  const [[own, sums, recent], system] = await Promise.all([
    db.interactive.batch([
      listForDashboard({ tenantId }),
      sumCalls({ tenantId, since: sinceHour }),
      listRecentCalls({ tenantId, since: since.toISOString(), limit: recentCalls }),
    ]),
    tenantId === systemTenantId
      ? []
      : services.database.platform().interactive.all(listForDashboard({ tenantId: systemTenantId })),
  ]);
  const connectors = [...own, ...system];
  const names = new Map(connectors.map(({ id, api_name: name }) => [id, name]));
  const calls = sums.filter(({ is_check: isCheck }) => !isCheck);
  const total = totalOf(calls);
  const heard = totalOf(sums);
  return {
    data: {
      total_providers: connectors.length,
      active_providers: connectors.filter((one) => one.enabled && !isFailing(one)).length,
      inactive_providers: connectors.filter(({ enabled }) => !enabled).length,
      error_providers: connectors.filter((one) => one.enabled && isFailing(one)).length,
      uptime_percentage: percentOf(heard.successes, heard.successes + heard.failures, 100),
      avg_latency_ms: latencyOf(total),
      cache_hit_rate: percentOf(total.cache_hits, total.cache_hits + total.requests, 0),
      recent_activity: recent.map((call) => ({
        id: call.id,
        // A deleted connector has only its key left.
        provider_name: names.get(call.connector_id) ?? call.provider,
        status: call.outcome,
        timestamp: call.called_at,
        latency_ms: call.latency_ms,
      })),
      provider_stats: connectors.map((one) => presentStats(one, totalOf(calls.filter(isOf(one))))),
    },
  };
}

function isFailing({ auto_disabled: isOff, status }: Listed): boolean {
  return isOff || status === 'offline' || status === 'error';
}

type Total = Omit<Sums, 'provider' | 'is_check'>;

const isOf =
  ({ api_key: key }: Listed) =>
  ({ provider }: Sums) =>
    provider === key;

function totalOf(sums: readonly Sums[]): Total {
  const sum = (name: keyof Total) => sums.reduce((so, row) => so + row[name], 0);
  return {
    requests: sum('requests'),
    successes: sum('successes'),
    failures: sum('failures'),
    cache_hits: sum('cache_hits'),
    latency_ms: sum('latency_ms'),
  };
}

function presentStats(connector: Listed, total: Total) {
  return {
    provider_key: connector.api_key,
    provider_name: connector.api_name,
    status: connector.status,
    success_rate: percentOf(total.successes, total.requests, 100),
    avg_latency_ms: latencyOf(total),
    last_success: connector.last_success,
    last_error: connector.last_error,
  };
}

function latencyOf({ latency_ms: sum, requests }: Total): number {
  return requests === 0 ? 0 : rounded(sum / requests);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
