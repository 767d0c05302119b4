import pg from 'pg';

import { grow, measuredRows, type GrowthTable } from '../growth-seed.ts';
import { runLoad, requestBytes } from '../load.ts';
import { pin, withDescendants } from '../machine.ts';
import type { Peer } from '../processes/start.ts';
import { median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';
import { enter } from '../seed.ts';

const fewTenants = 10;
const manyTenants = { quick: 1000, full: 10_000 };
// Far from saturation, where latency is what one request takes and not how many others wait.
const connections = 2;

type Side = { peer: Peer; token: string; megabytes: number };
type Probe = { name: string; path: (ids: readonly string[]) => string[] };

/** The same requests of a tenant of 1,000 rows, alone with 9 others and among thousands. */
export const growth: Scenario = {
  name: 'growth',
  async run(bench) {
    const tenants = manyTenants[bench.named.includes('growth') && !bench.isQuick ? 'full' : 'quick'];
    const few = await settle(bench, 'growth_few', fewTenants);
    try {
      const many = await settle(bench, 'growth_many', tenants);
      try {
        return await measureAll(bench, { few, many }, tenants);
      } finally {
        await leave(bench, 'growth_many', many);
      }
    } finally {
      await leave(bench, 'growth_few', few);
    }
  },
};

/** A process of its own on a database of its own, of the same PostgreSQL. */
async function settle(bench: Bench, database: string, tenants: number): Promise<Side> {
  const { atrium } = bench;
  await asOwner(bench, `create database ${database}`);
  const peer = await atrium.startPeer(database);
  try {
    return await fill(bench, peer, { database, tenants });
  } catch (error) {
    await peer.stop();
    throw error;
  }
}

async function fill(
  bench: Bench,
  peer: Peer,
  { database, tenants }: { database: string; tenants: number },
): Promise<Side> {
  const { atrium, cores } = bench;
  const { token, tenantId } = await enter(peer.base, { email: 'reader@bench.example', password: 'correct horse' });
  const processes = () => withDescendants(atrium.postmaster);
  if (cores !== undefined) pin(processes(), `${cores.server},${cores.rest}`);
  const megabytes = await grow({ ...atrium.connection, database }, tenantId, tenants);
  if (cores !== undefined) {
    pin(processes(), cores.rest);
    pin([peer.pid], cores.server);
  }
  return { peer, token, megabytes };
}

async function leave(bench: Bench, database: string, { peer }: Side): Promise<void> {
  await peer.stop();
  await asOwner(bench, `drop database ${database} with (force)`);
}

async function asOwner({ atrium }: Bench, statement: string): Promise<void> {
  const client = new pg.Client(atrium.connection);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

const probes: Readonly<Record<GrowthTable, readonly Probe[]>> = {
  contacts: [
    { name: 'read a contact', path: (ids) => ids.map((id) => `/${id}`) },
    { name: 'list contacts', path: () => ['?limit=50'] },
    { name: 'search contacts', path: () => searches('last ', 997, 60) },
  ],
  spaces: [
    { name: 'read a space', path: (ids) => ids.map((id) => `/${id}`) },
    { name: 'list spaces', path: () => ['?limit=50'] },
    { name: 'search spaces', path: () => searches('room ', 500, 60) },
  ],
};

/** Different words, so that no plan is made for one of them. */
function searches(prefix: string, below: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => {
    const word = Math.floor((at * below) / count);
    return `?limit=50&search=${encodeURIComponent(`${prefix}${word}`)}`;
  });
}

async function measureAll(bench: Bench, sides: { few: Side; many: Side }, tenants: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const table of ['contacts', 'spaces'] as const) {
    const [few, many] = [await readIds(sides.few, table), await readIds(sides.many, table)];
    for (const { name, path } of probes[table]) {
      const load = { few: toLoad(sides.few, table, path(few)), many: toLoad(sides.many, table, path(many)) };
      const { value, detail } = await measure(bench, load);
      const size = { tenants, fewMb: sides.few.megabytes, manyMb: sides.many.megabytes };
      const label = `${name} among ${tenants.toLocaleString('en')} tenants`;
      figures.push({ name: label, value, unit: 'ratio', target: { atMost: 1.15 }, detail: { ...detail, ...size } });
    }
  }
  return figures;
}

/** @throws Error when the tenant has not the rows that it should have: a wrong total would be cheap to be fast with. */
async function readIds({ peer, token }: Side, table: GrowthTable): Promise<string[]> {
  const response = await fetch(`${peer.base}/api/v1/secure/${table}?limit=200`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { data, pagination } = (await response.json()) as { data: { id: string }[]; pagination: { total: number } };
  if (pagination.total === measuredRows[table] && data.length === 200) return data.map(({ id }) => id);
  throw new Error(`${data.length} of ${pagination.total} ${table} instead of 200 of ${measuredRows[table]}`);
}

type Load = { port: number; requests: Buffer[]; status: number };

function toLoad({ peer, token }: Side, table: GrowthTable, paths: readonly string[]): Load {
  const requests = paths.map((path) => requestBytes('GET', `/api/v1/secure/${table}${path}`, { token }));
  return { port: peer.port, requests, status: 200 };
}

/** In turns A B, B A, …; the ratio of latencies is taken per pair. */
async function measure(bench: Bench, { few, many }: { few: Load; many: Load }) {
  const run = (load: Load) => runLoad({ ...load, connections, durationMs: bench.roundMs / 2 });
  for (const load of [few, many]) await run(load);
  const results: { few: Awaited<ReturnType<typeof run>>; many: Awaited<ReturnType<typeof run>> }[] = [];
  for (let at = 0; at < bench.rounds; at++) {
    if (at % 2 === 0) results.push({ few: await run(few), many: await run(many) });
    else {
      const later = await run(many);
      results.push({ few: await run(few), many: later });
    }
  }
  const ratios = results.map((pair) => round(pair.many.p50Ms / pair.few.p50Ms));
  const middle = (side: 'few' | 'many', key: 'p50Ms' | 'p99Ms') =>
    round(median(results.map((pair) => pair[side][key])), 3);
  const detail = {
    ratios,
    fewP50Ms: middle('few', 'p50Ms'),
    manyP50Ms: middle('many', 'p50Ms'),
    fewP99Ms: middle('few', 'p99Ms'),
    manyP99Ms: middle('many', 'p99Ms'),
  };
  return { value: round(median(ratios)), detail };
}
