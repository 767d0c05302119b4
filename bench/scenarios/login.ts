import { requestBytes, runLoad, type LoadResult } from '../load.ts';
import { pacedReads } from '../paced-reads.ts';
import { median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';

/** Enough to keep every hash busy, few enough that no login waits longer than the service allows. */
const loginConnections = 16;

/** Logins at saturation against the bare hash, and what other requests notice of them. Runs on all cores. */
export const login: Scenario = {
  name: 'login',
  async run(bench) {
    await loginLoad(bench, bench.roundMs / 2);
    return [await compareWithHash(bench), await compareLatency(bench)];
  },
};

async function compareWithHash(bench: Bench): Promise<Figure> {
  const ratios: number[] = [];
  const hashes: number[] = [];
  const logins: number[] = [];
  for (let at = 0; at < bench.rounds; at++) {
    if (at % 2 === 0) hashes.push(await bench.hashRate.measure(bench.roundMs));
    logins.push((await loginLoad(bench, bench.roundMs)).perSecond);
    if (at % 2 === 1) hashes.push(await bench.hashRate.measure(bench.roundMs));
    ratios.push(round(logins[at]! / hashes[at]!));
  }
  const detail = {
    ratios,
    hashesPerSecond: round(median(hashes), 1),
    loginsPerSecond: round(median(logins), 1),
  };
  return { name: 'login', value: round(median(ratios)), unit: 'ratio', target: { atLeast: 0.9 }, detail };
}

async function compareLatency(bench: Bench): Promise<Figure> {
  const ratios: number[] = [];
  const quiet: LoadResult[] = [];
  const busy: LoadResult[] = [];
  for (let at = 0; at < bench.rounds; at++) {
    if (at % 2 === 0) quiet.push(await pacedReads(bench, bench.roundMs));
    const [reads] = await Promise.all([pacedReads(bench, bench.roundMs), loginLoad(bench, bench.roundMs)]);
    busy.push(reads);
    if (at % 2 === 1) quiet.push(await pacedReads(bench, bench.roundMs));
    ratios.push(round(reads.p99Ms / quiet[at]!.p99Ms));
  }
  const detail = {
    ratios,
    quietP50Ms: round(median(quiet.map((result) => result.p50Ms)), 2),
    quietP99Ms: round(median(quiet.map((result) => result.p99Ms)), 2),
    busyP50Ms: round(median(busy.map((result) => result.p50Ms)), 2),
    busyP99Ms: round(median(busy.map((result) => result.p99Ms)), 2),
  };
  return {
    name: 'p99 of reads under logins',
    value: round(median(ratios)),
    unit: 'ratio',
    target: { atMost: 1.5 },
    detail,
  };
}

function loginLoad({ atrium, seed }: Bench, durationMs: number): Promise<LoadResult> {
  const requests = seed.people.map((person) => requestBytes('POST', '/api/v1/public/auth/login', { body: person }));
  return runLoad({ port: atrium.port, requests, status: 200, connections: loginConnections, durationMs });
}
