import { runLoad, type LoadResult } from '../load.ts';
import { contactReads } from '../paced-reads.ts';
import { startMonitor, type Monitor } from '../processes/start.ts';
import { median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';

const timesTooMany = 10;

/** Ten times the clients that saturate the service: what it still answers, and whether monitors still hear from it. */
export const overload: Scenario = {
  name: 'overload',
  async run(bench) {
    const monitor = await startMonitor(bench.atrium.port);
    try {
      return await flood(bench, monitor);
    } finally {
      await monitor.stop();
    }
  },
};

async function flood(bench: Bench, monitor: Monitor): Promise<Figure[]> {
  const peaks: LoadResult[] = [];
  const floods: LoadResult[] = [];
  const health: LoadResult[] = [];
  await load(bench, bench.connections);
  for (let at = 0; at < bench.rounds; at++) {
    if (at % 2 === 0) peaks.push(await load(bench, bench.connections));
    const [answered, checks] = await Promise.all([
      load(bench, bench.connections * timesTooMany),
      monitor.watch(bench.roundMs),
    ]);
    floods.push(answered);
    health.push(checks);
    if (at % 2 === 1) peaks.push(await load(bench, bench.connections));
  }
  const ratios = floods.map(({ perSecond }, at) => round(perSecond / peaks[at]!.perSecond));
  const middle = (results: readonly LoadResult[], key: keyof LoadResult, digits = 0) =>
    round(median(results.map((result) => result[key])), digits);
  return [
    {
      name: 'goodput at 10 times saturation',
      value: round(median(ratios)),
      unit: 'ratio',
      target: { atLeast: 0.9 },
      detail: {
        ratios,
        peakPerSecond: middle(peaks, 'perSecond'),
        floodPerSecond: middle(floods, 'perSecond'),
        refusals: middle(floods, 'refusals'),
        floodP99Ms: middle(floods, 'p99Ms', 1),
      },
    },
    {
      name: 'p99 of health meanwhile',
      value: middle(health, 'p99Ms', 1),
      unit: 'ms',
      target: { atMost: 100 },
      detail: { p50Ms: middle(health, 'p50Ms', 1), checks: middle(health, 'answers') },
    },
  ];
}

function load({ atrium, seed, roundMs }: Bench, connections: number): Promise<LoadResult> {
  const requests = contactReads(seed);
  return runLoad({ port: atrium.port, requests, status: 200, refusal: 503, connections, durationMs: roundMs });
}
