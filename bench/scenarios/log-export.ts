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

const blocks = 80;
const linesPerBlock = 500;
const lines = blocks * linesPerBlock;
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
      where block_first_at >= '${day.startTime}' and logged_at >= '${day.startTime}' and logged_at < '${day.endTime}'
      order by logged_at, id`,
  );
  for (;;) {
    const { rows } = await client.query(`fetch ${fetchedRows} from lines`);
    if (rows.length === 0) break;
    yield `${rows.map((row) => JSON.stringify(row)).join(',\n')},\n`;
  }
  await client.query('commit');
}

/** Blocks of two levels that overlap in time, as a busy process writes them. */
async function plant(client: pg.Client): Promise<void> {
  await client.query(
    `insert into log_blocks (first_at, id, last_at, level, lines, concerned, parts, first_request, last_request,
                             times, ids, services, messages, tenant_ids, user_ids, request_ids, contexts)
     select min(at), gen_random_uuid(), max(at), level, count(*), array_agg(tenant), '{http}', min(request), max(request),
            array_agg(at order by at), array_agg(gen_random_uuid()), array_agg('http'::text), array_agg('request completed'::text),
            array_agg(tenant), array_agg(tenant), array_agg(request), array_agg(context)
       from (select block, case when block % 4 = 3 then 40 else 30 end as level,
                    $1::timestamptz + make_interval(secs => 20.0 * (block / 4) + line * 0.039) as at,
                    gen_random_uuid() as tenant, gen_random_uuid()::text as request,
                    '{"method":"GET","url":"/api/v1/secure/contacts/0199","status":200,"durationMs":1.25}'::text as context
               from generate_series(0, $2::integer - 1) block, generate_series(0, $3::integer - 1) line) as made
      group by block, level`,
    [day.startTime, blocks, linesPerBlock],
  );
  await client.query('vacuum analyze log_blocks');
}
