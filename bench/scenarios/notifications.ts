import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

import { send } from '../api.ts';
import type { LoadResult } from '../load.ts';
import { memoryMb, peakMemoryMb, resetPeakMemory } from '../machine.ts';
import { pacedReads } from '../paced-reads.ts';
import { startReceiver } from '../processes/start.ts';
import { median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';
import { enter } from '../seed.ts';

const peopleCount = 10_000;
/** What is compiled, loaded and pooled by the first ones is not what more of them cost. */
const warmUpCount = 1000;
/** Polling interval; polls must not affect the measurement. */
const lookMs = 2000;
const timeoutMs = 600_000;
const path = 'secure/admin/notifications';

/** What it takes to tell 10,000 people something, in their inboxes and through a service of the customer's own. */
export const notifications: Scenario = {
  name: 'notifications',
  async run(bench) {
    const receiver = await startReceiver();
    try {
      return await measure(bench, receiver.origin);
    } finally {
      await receiver.stop();
    }
  },
};

async function measure(bench: Bench, origin: string): Promise<Figure[]> {
  const { atrium } = bench;
  const email = `sender-${Date.now()}@bench.example`;
  const { tenantId, token } = await enter(atrium.base, { email, password: 'correct horse' });
  await settle(bench, { token, origin });
  await insertPeople(bench, tenantId, warmUpCount);
  await tell(bench, token, 1);
  await untilTold(bench, { token, people: warmUpCount + 1 });
  await insertPeople(bench, tenantId, peopleCount - warmUpCount);
  const reads = () => pacedReads(bench, bench.roundMs);
  const quiet = [await reads(), await reads(), await reads()].slice(1);
  const before = memoryMb(atrium.pid);
  resetPeakMemory(atrium.pid);
  const startedAt = performance.now();
  const postSeconds = await tell(bench, token, 2);
  let isOver = false;
  const told = untilTold(bench, { token, people: peopleCount + 1 }).then(() => {
    isOver = true;
    return (performance.now() - startedAt) / 1000;
  });
  const busy: LoadResult[] = [];
  do busy.push(await reads());
  while (!isOver);
  const seconds = await told;
  const max = peakMemoryMb(atrium.pid);
  quiet.push(await reads(), await reads());
  const middle = (results: readonly LoadResult[], key: keyof LoadResult) =>
    round(median(results.map((result) => result[key])), 2);
  return [
    {
      name: 'notifying 10,000 people: answer',
      value: round(postSeconds),
      unit: 's',
      target: { atMost: 1 },
      detail: { toldSeconds: round(seconds, 1), perSecond: round((2 * peopleCount) / seconds, 0) },
    },
    {
      name: 'p99 of reads while people are told',
      // The last of them may have begun when all was nearly over.
      value: round(middle(busy.length > 1 ? busy.slice(0, -1) : busy, 'p99Ms') / middle(quiet, 'p99Ms')),
      unit: 'ratio',
      target: { atMost: 1.2 },
      detail: {
        quietP50Ms: middle(quiet, 'p50Ms'),
        quietP99Ms: middle(quiet, 'p99Ms'),
        busyP50Ms: middle(busy, 'p50Ms'),
        busyP99Ms: middle(busy, 'p99Ms'),
        busy: busy.map(({ p99Ms }) => round(p99Ms, 2)),
      },
    },
    {
      name: 'memory of notifying 10,000 people',
      value: round(max - before, 1),
      unit: 'MB',
      target: { atMost: 64 },
      detail: { beforeMb: round(before, 0) },
    },
  ];
}

async function settle(bench: Bench, { token, origin }: { token: string; origin: string }): Promise<void> {
  await send(bench, token, 'POST secure/ai/providers', {
    api_key: 'own',
    api_name: 'Own service',
    api_base_url: origin,
    category: 'communication',
    config: { adapter: 'webhook', channels: ['webhook'] },
  });
  const preferences = [{ category: '*', channel: 'webhook', enabled: true }];
  await send(bench, token, `PATCH ${path}/preferences`, { scope: 'tenant_default', preferences });
}

/** @returns how long the answer took, in seconds. */
async function tell(bench: Bench, token: string, number: number): Promise<number> {
  const startedAt = performance.now();
  await send(bench, token, `POST ${path}`, {
    category: 'news',
    title: `Number ${number}`,
    body: 'The ground floor is closed on Monday.',
    channels: ['in_app', 'webhook'],
    audience: { everyone: true },
  });
  return (performance.now() - startedAt) / 1000;
}

type Report = { status: string; deliveries: Record<'in_app' | 'webhook', { sent: number; failed: number }> };

async function untilTold(bench: Bench, { token, people }: { token: string; people: number }): Promise<void> {
  const { data } = await send<{ data: { id: string }[] }>(bench, token, `GET ${path}?limit=1`);
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(lookMs)) {
    const { data: report } = await send<{ data: Report }>(bench, token, `GET ${path}/${data[0]!.id}`);
    const { in_app: inbox, webhook } = report.deliveries;
    if (webhook.failed > 0) throw new Error(`not told were ${JSON.stringify(report)}`);
    if (report.status === 'done' && inbox.sent === people && webhook.sent === people) return;
  }
  throw new Error('people are not told in time');
}

async function insertPeople({ atrium }: Bench, tenantId: string, count: number): Promise<void> {
  const client = new pg.Client(atrium.connection);
  await client.connect();
  try {
    await client.query(
      `insert into users (tenant_id, id, account_id, email, display_name, full_name, locale)
       select $1, id, id, id || '@bench.example', 'Person', 'Person', 'en'
         from (select uuidv7() as id from generate_series(1, $2::int)) as people`,
      [tenantId, count],
    );
  } finally {
    await client.end();
  }
}
