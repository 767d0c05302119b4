import { monitorEventLoopDelay } from 'node:perf_hooks';

import type { PrincipalCache } from '#core/base/access/principal-cache';
import type { Database } from '#core/data/db/database';
import type { Logging } from '#core/data/log/log';
import type { Health } from '#core/platform/health/health';
import type { Metric, Sample } from '#core/platform/metrics/metric';

type Parts = {
  version: string;
  database: Pick<Database, 'pools' | 'faults'>;
  health: Pick<Health, 'states'>;
  logging: Pick<Logging, 'state'>;
  principals: Pick<PrincipalCache, 'stats'>;
};

/** What the parts of the process know of themselves. */
export function listMetrics(parts: Parts): Metric[] {
  return [...processMetrics(parts.version), ...poolMetrics(parts), ...logMetrics(parts), ...otherMetrics(parts)];
}

const one = (value: number): Sample[] => [{ value }];
const gauge = (name: string, help: string, read: Metric['read']): Metric => ({ name, help, type: 'gauge', read });
const counter = (name: string, help: string, read: Metric['read']): Metric => ({ name, help, type: 'counter', read });

/** Under the names that dashboards for Node processes know. */
function processMetrics(version: string): Metric[] {
  return [
    gauge('atrium_build_info', 'The release that runs.', () => [
      { labels: { version, node: process.version }, value: 1 },
    ]),
    gauge('process_start_time_seconds', 'When the process began, in seconds since 1970.', () =>
      one(Math.round(performance.timeOrigin / 1000)),
    ),
    counter('process_cpu_seconds_total', 'Processor time used by the process.', () => {
      const { user, system } = process.cpuUsage();
      return one((user + system) / 1e6);
    }),
    gauge('process_resident_memory_bytes', 'Memory of the process.', () => one(process.memoryUsage.rss())),
    gauge('nodejs_heap_size_used_bytes', 'Heap in use.', () => one(process.memoryUsage().heapUsed)),
    gauge('nodejs_external_memory_bytes', 'Memory outside of the heap.', () => one(process.memoryUsage().external)),
    delayMetric(),
  ];
}

function delayMetric(): Metric {
  // Begun with the first read: until then nothing has to be measured.
  let delay: ReturnType<typeof monitorEventLoopDelay> | undefined;
  return gauge(
    'nodejs_eventloop_delay_seconds',
    'How late the event loop was since it was last asked, by quantile.',
    () => {
      if (delay === undefined) {
        delay = monitorEventLoopDelay({ resolution: 20 });
        delay.enable();
        return [];
      }
      const measured = delay;
      const samples = [50, 90, 99, 100].map((percentile) => ({
        labels: { quantile: String(percentile / 100) },
        value: measured.percentile(percentile) / 1e9,
      }));
      measured.reset();
      return samples;
    },
  );
}

function poolMetrics({ database }: Parts): Metric[] {
  const each = (value: (pool: ReturnType<Database['pools']>[number]) => number) => () =>
    database.pools().map((pool) => ({ labels: { role: pool.role, pool: pool.pool }, value: value(pool) }));
  return [
    gauge(
      'atrium_database_connections',
      'Connections to the database that are open.',
      each(({ open }) => open),
    ),
    gauge(
      'atrium_database_connections_max',
      'Connections to the database at most.',
      each(({ size }) => size),
    ),
    gauge(
      'atrium_database_flights',
      'Statements and transactions under way.',
      each(({ flights }) => flights),
    ),
    gauge(
      'atrium_database_waiting',
      'Statements and transactions that wait for a connection.',
      each(({ waiting }) => waiting),
    ),
    counter(
      'atrium_database_faults_total',
      'Faults of the database that statements and connections met, by kind.',
      () => Object.entries(database.faults.counts()).map(([kind, value]) => ({ labels: { kind }, value })),
    ),
  ];
}

function logMetrics({ logging }: Parts): Metric[] {
  return [
    counter('atrium_log_lines_kept_total', 'Log lines written to the database.', () => one(logging.state().kept)),
    counter('atrium_log_lines_dropped_total', 'Log lines given up because too many waited.', () =>
      one(logging.state().dropped),
    ),
    gauge('atrium_log_lines_waiting', 'Log lines that wait for the database.', () => one(logging.state().waiting)),
  ];
}

function otherMetrics({ health, principals }: Parts): Metric[] {
  return [
    counter('atrium_credential_lookups_total', 'Credentials looked for in memory, by whether they were there.', () => {
      const { hits, misses } = principals.stats();
      return [
        { labels: { result: 'hit' }, value: hits },
        { labels: { result: 'miss' }, value: misses },
      ];
    }),
    gauge('atrium_service_healthy', '1 where a part of the installation is healthy, otherwise 0.', async () =>
      (await health.states()).map(({ name, status }) => ({
        labels: { service: name },
        value: status === 'healthy' ? 1 : 0,
      })),
    ),
  ];
}
