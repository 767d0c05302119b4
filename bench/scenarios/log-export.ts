import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';

import { send } from '../api.ts';
import { administrator } from '../processes/start.ts';
import { median, round, type Bench, type Scenario } from '../scenario.ts';
import { logIn } from '../seed.ts';

const lines = 40_000;
const day = { startTime: '2024-05-01T00:00:00.000Z', endTime: '2024-05-02T00:00:00.000Z' };
const fetchedRows = 1000;

/** An export of 40,000 lines, against a cursor over the same lines with the stock driver. */
export const logExport: Scenario = {
  name: 'log-export',
  async run(bench) {
    const client = new pg.Client(bench.atrium.connection);
    await client.connect();
    try {
      await plant(client);
      const token = await logIn(bench.atrium, administrator);
      const runs: { atriumMs: number; cursorMs: number }[] = [];
      // The first of each is warm-up.
      for (let at = 0; at <= bench.rounds; at++)
        runs.push({
          cursorMs: await timed(() => exportByCursor(client)),
          atriumMs: await timed(() => exportByService(bench, token)),
        });
      const measured = runs.slice(1);
      const ratios = measured.map(({ atriumMs, cursorMs }) => round(atriumMs / cursorMs));
      const middle = (of: 'atriumMs' | 'cursorMs') => round(median(measured.map((run) => run[of])), 0);
      const detail = { ratios, atriumMs: middle('atriumMs'), cursorMs: middle('cursorMs'), lines };
      const name = 'log export of 40,000 lines';
      return [{ name, value: round(median(ratios)), unit: 'ratio', target: { atMost: 2 }, detail }];
    } finally {
      await client.end();
    }
  },
};

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function exportByService({ atrium }: Bench, token: string): Promise<void> {
  type Written = { data: { path: string; recordCount: number } };
  const { data } = await send<Written>({ atrium }, token, 'POST system/logs/export', day);
  if (data.recordCount !== lines) throw new Error(`the export has ${data.recordCount} lines`);
}

async function exportByCursor(client: pg.Client): Promise<void> {
  const file = path.join(tmpdir(), `atrium-bench-${process.pid}.json`);
  try {
    await pipeline(Readable.from(fetchLines(client)), createWriteStream(file, { flush: true }));
  } finally {
    await rm(file, { force: true });
  }
}

async function* fetchLines(client: pg.Client) {
  await client.query('begin');
  await client.query(
    `declare lines cursor for
     select logged_at, id, level, service, message, concerned_tenant_id, user_id, request_id, context::json
       from application_logs
      where logged_at >= '${day.startTime}' and logged_at < '${day.endTime}'
      order by logged_at, id`,
  );
  for (;;) {
    const { rows } = await client.query(`fetch ${fetchedRows} from lines`);
    if (rows.length === 0) break;
    yield `${rows.map((row) => JSON.stringify(row)).join(',\n')},\n`;
  }
  await client.query('commit');
}

/** Lines of two levels within half an hour, as a busy process writes them. */
async function plant(client: pg.Client): Promise<void> {
  await client.query(
    `insert into application_logs (logged_at, id, level, service, message, concerned_tenant_id, user_id, request_id, context)
     select $1::timestamptz + make_interval(secs => line * 0.039), gen_random_uuid(), case when line % 4 = 3 then 40 else 30 end,
            'http', 'request completed', tenant, tenant, gen_random_uuid()::text,
            '{"method":"GET","url":"/api/v1/secure/contacts/0199","status":200,"durationMs":1.25}'
       from (select line, gen_random_uuid() as tenant from generate_series(0, $2::integer - 1) line) as made`,
    [day.startTime, lines],
  );
  await client.query('vacuum analyze application_logs');
}
