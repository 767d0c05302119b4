import pg from 'pg';

import { requestBytes, runLoad } from '../load.ts';
import { administrator } from '../processes/start.ts';
import { round, type Bench, type Scenario } from '../scenario.ts';
import { logIn } from '../seed.ts';

const requests = 10_000_000;
const tenants = 10_000;

/** The analysis of the last 24 hours after ten million requests of ten thousand tenants. */
export const analytics: Scenario = {
  name: 'analytics',
  async run(bench) {
    await fill(bench);
    const token = await logIn(bench.atrium, administrator);
    const { p50Ms, p99Ms, answers } = await runLoad({
      port: bench.atrium.port,
      requests: [requestBytes('GET', '/api/v1/system/logs/analytics', { token })],
      status: 200,
      connections: 1,
      durationMs: bench.roundMs * 2,
    });
    return [
      {
        name: 'analysis of 10 million requests',
        value: round(p50Ms, 0),
        unit: 'ms',
        target: { atMost: 500 },
        detail: { p99Ms: round(p99Ms, 0), answers, tenants },
      },
    ];
  },
};

/** As the service would have counted them: by minute and duration, by hour and tenant, by hour and message. */
async function fill({ atrium }: Bench): Promise<void> {
  const client = new pg.Client(atrium.connection);
  await client.connect();
  try {
    await client.query(
      `insert into request_minutes (minute, bucket, requests, errors)
       select date_trunc('minute', now()) - make_interval(mins => m), b, $1::bigint / (1440 * 60), 1
         from generate_series(1, 1439) m, generate_series(10, 69) b on conflict do nothing`,
      [requests],
    );
    await client.query(
      `insert into tenant_request_hours (hour, concerned_tenant_id, requests, errors)
       select date_trunc('hour', now()) - make_interval(hours => h), md5(t::text)::uuid, $1::bigint / (24 * $2::bigint), 1
         from generate_series(0, 23) h, generate_series(1, $2::integer) t on conflict do nothing`,
      [requests, tenants],
    );
    await client.query(
      `insert into error_hours (hour, message, errors, last_at)
       select date_trunc('hour', now()) - make_interval(hours => h), 'What went wrong ' || e, e, now()
         from generate_series(0, 23) h, generate_series(1, 500) e on conflict do nothing`,
    );
    for (const table of ['request_minutes', 'tenant_request_hours', 'error_hours']) {
      await client.query(`vacuum analyze ${table}`);
    }
  } finally {
    await client.end();
  }
}
