import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

import { runLoad, type LoadResult } from '../load.ts';
import { memoryMb } from '../machine.ts';
import { contactReads } from '../paced-reads.ts';
import { median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';

/** Longer than a change of the configuration may take to reach a process. */
const applyMs = 2500;
const drainTimeoutMs = 60_000;
/** Less than a statement of the service waits for a lock, and than fills its queue of lines. */
const heldUpMs = 700;
/** Short ones, and more of them: the machine changes its speed by more than logs cost. */
const pairsPerRound = 3;
/** Of the configuration as it is without changes. */
const batchSize = 1000;

/** What logs, counts and limits cost of the throughput of reads, and how many lines a second reach the database. */
export const logging: Scenario = {
  name: 'logging',
  async run(bench) {
    const client = new pg.Client(bench.atrium.connection);
    await client.connect();
    try {
      return [...(await compareCost(bench, client)), await measureIngest(bench, client)];
    } finally {
      await configure(client, 'log_configuration', {});
      await client.end();
    }
  },
};

async function compareCost(bench: Bench, client: pg.Client): Promise<Figure[]> {
  const short = { ...bench, roundMs: bench.roundMs / pairsPerRound };
  const off = async () => {
    await configure(client, 'log_configuration', { console: { enabled: false }, database: { enabled: false } });
    await configure(client, 'security_config', { dos_enabled: false, circuit_breaker_enabled: false });
    await sleep(applyMs);
    return load(short);
  };
  const on = async () => {
    await configure(client, 'log_configuration', {});
    await configure(client, 'security_config', { dos_max_requests_per_ip: 100_000, dos_time_window_seconds: 1 });
    await sleep(applyMs);
    return load(short);
  };
  const [without, within]: [LoadResult[], LoadResult[]] = [[], []];
  const memory: number[] = [];
  for (let at = 0; at < pairsPerRound * bench.rounds; at++) {
    if (at % 2 === 0) without.push(await off());
    within.push(await on());
    memory.push(round(memoryMb(bench.atrium.pid), 0));
    if (at % 2 === 1) without.push(await off());
  }
  await on();
  const ratios = within.map(({ perSecond }, at) => round(perSecond / without[at]!.perSecond));
  const middle = (results: readonly LoadResult[]) => round(median(results.map(({ perSecond }) => perSecond)), 0);
  const growth = memory.at(-1)! - memory[0]!;
  return [
    {
      name: 'reads with logs, counts and limits',
      value: round(median(ratios)),
      unit: 'ratio',
      target: { atLeast: 0.9 },
      detail: { ratios, withoutPerSecond: middle(without), withPerSecond: middle(within) },
    },
    { name: 'memory while logging', value: round(growth, 0), unit: 'MB', target: { atMost: 64 }, detail: { memory } },
  ];
}

/**
 * How fast lines are written. One process says no more than some thousands a second, which are written as they come; so they
 * are held up for a while by a lock on their table.
 */
async function measureIngest(bench: Bench, client: pg.Client): Promise<Figure> {
  const speeds: number[] = [];
  let all = 0;
  for (let at = 0; at < bench.rounds; at++) {
    // What was said before is written by then.
    await sleep(applyMs);
    const before = await countLines(client);
    await client.query('begin');
    await client.query('lock table application_logs in share mode');
    const { answers } = await load({ ...bench, roundMs: heldUpMs });
    await client.query('commit');
    const start = performance.now();
    // The last ones wait for more to come.
    const lines = answers - (answers % batchSize);
    await untilWritten(client, before + lines);
    speeds.push(lines / ((performance.now() - start) / 1000));
    all += lines;
  }
  return {
    name: 'log lines into the database',
    value: round(median(speeds), 0),
    unit: 'per s',
    target: { atLeast: 10_000 },
    detail: { lines: all, speeds: speeds.map((speed) => round(speed, 0)) },
  };
}

async function untilWritten(client: pg.Client, lines: number): Promise<void> {
  for (const deadline = performance.now() + drainTimeoutMs; performance.now() < deadline; await sleep(5))
    if ((await countLines(client)) >= lines) return;
  throw new Error('log lines were not written in time, or dropped');
}

function load({ atrium, seed, connections, roundMs }: Bench): Promise<LoadResult> {
  return runLoad({ port: atrium.port, requests: contactReads(seed), status: 200, connections, durationMs: roundMs });
}

async function countLines(client: pg.Client): Promise<number> {
  const text = `select coalesce(sum(lines), 0)::integer as lines from log_hours where service = 'http'`;
  return (await client.query<{ lines: number }>(text)).rows[0]!.lines;
}

/** As an administrator's change through the API would: every process is told. */
async function configure(client: pg.Client, name: string, value: object): Promise<void> {
  await client.query(
    `insert into installation_settings (name, id, value, created_at, updated_at)
     values ($1, gen_random_uuid(), $2, now(), now()) on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at`,
    [name, value],
  );
  await client.query(`select pg_notify('atrium_settings', $1)`, [name]);
}
