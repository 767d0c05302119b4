import pg from 'pg';

import { requestBytes, runLoad } from './load.ts';
import { pin, withDescendants } from './machine.ts';
import type { Peer } from './processes/start.ts';
import { median, round, type Bench, type Figure } from './scenario.ts';
import { enter, logIn } from './seed.ts';

/** Before the first login. */
type Filled = { peer: Peer; megabytes: number };

/** One of two processes, on a database of its own of the same PostgreSQL. */
export type Side = Filled & { token: string };

export type Probe = {
  name: string;
  /** What is asked for in turn, below `/api/v1/secure`. */
  paths(side: Side): Promise<readonly string[]> | readonly string[];
};

export type TwoSizes = {
  /** What the databases are called. */
  name: string;
  few: number;
  many: number;
  /** Fills a database up to a size around the tenant that is measured. @returns its megabytes. */
  fill(connection: pg.ClientConfig, tenantId: string, size: number): Promise<number>;
  probes: readonly Probe[];
  /** The most that the ratio of latencies, many to few, may be. */
  atMost: number;
  describe(size: number): string;
};

const reader = { email: 'reader@bench.example', password: 'correct horse' };

// Far from saturation, where latency is what one request takes and not how many others wait.
const connections = 2;

/** The same requests of the same tenant in a small database and in a large one. */
export async function compareSizes(bench: Bench, what: TwoSizes): Promise<Figure[]> {
  const few = await settle(bench, `${what.name}_few`, what, what.few);
  try {
    const many = await settle(bench, `${what.name}_many`, what, what.many);
    try {
      return await measureAll(bench, { few: await enterAgain(few), many: await enterAgain(many) }, what);
    } finally {
      await leave(bench, `${what.name}_many`, many);
    }
  } finally {
    await leave(bench, `${what.name}_few`, few);
  }
}

async function settle(bench: Bench, database: string, { fill }: TwoSizes, size: number): Promise<Filled> {
  const { atrium, cores } = bench;
  await asOwner(bench, `create database ${database}`);
  const peer = await atrium.startPeer(database);
  try {
    const { tenantId } = await enter(peer.base, reader);
    const processes = () => withDescendants(atrium.postmaster);
    if (cores !== undefined) pin(processes(), `${cores.server},${cores.rest}`);
    const megabytes = await fill({ ...atrium.connection, database }, tenantId, size);
    if (cores !== undefined) {
      pin(processes(), cores.rest);
      pin([peer.pid], cores.server);
    }
    return { peer, megabytes };
  } catch (error) {
    await peer.stop();
    throw error;
  }
}

/** To fill a database may take longer than an access token is good for. */
async function enterAgain(filled: Filled): Promise<Side> {
  return { ...filled, token: await logIn(filled.peer, reader) };
}

async function leave(bench: Bench, database: string, { peer }: Filled): Promise<void> {
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

async function measureAll(bench: Bench, sides: { few: Side; many: Side }, what: TwoSizes): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { name, paths } of what.probes) {
    const load = {
      few: toLoad(sides.few, await paths(sides.few)),
      many: toLoad(sides.many, await paths(sides.many)),
    };
    const { value, detail } = await measure(bench, load);
    const megabytes = { fewMb: sides.few.megabytes, manyMb: sides.many.megabytes };
    const label = `${name} among ${what.describe(what.many)}`;
    figures.push({
      name: label,
      value,
      unit: 'ratio',
      target: { atMost: what.atMost },
      detail: { ...detail, ...megabytes },
    });
  }
  return figures;
}

type Load = { port: number; requests: Buffer[]; status: number };

function toLoad({ peer, token }: Side, paths: readonly string[]): Load {
  const requests = paths.map((path) => requestBytes('GET', `/api/v1/secure${path}`, { token }));
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

/** What a `GET` below `/api/v1/secure` answers. */
export async function ask<Answer>({ peer, token }: Side, path: string): Promise<Answer> {
  const response = await fetch(`${peer.base}/api/v1/secure${path}`, { headers: { authorization: `Bearer ${token}` } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 600)}`);
  return JSON.parse(text) as Answer;
}
