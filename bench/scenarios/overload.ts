import { requestBytes, runLoad, type Load, type LoadResult } from '../load.ts';
import { contactReads } from '../paced-reads.ts';
import { startLoader, type Loader } from '../processes/start.ts';
import { median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';

const timesTooMany = 10;
const healthChecksPerSecond = 20;

/** Ten times the clients that saturate the service: what it still answers, and whether monitors still hear from it. */
export const overload: Scenario = {
  name: 'overload',
  async run(bench) {
    const loader = await startLoader();
    try {
      return await flood(bench, loader);
    } finally {
      await loader.stop();
    }
  },
};

async function flood(bench: Bench, monitor: Loader): Promise<Figure[]> {
  const peaks: LoadResult[] = [];
  const floods: LoadResult[] = [];
  const health: LoadResult[] = [];
  await load(bench, bench.connections);
  for (let at = 0; at < bench.rounds; at++) {
    if (at % 2 === 0) peaks.push(await load(bench, bench.connections));
    const [answered, checks] = await Promise.all([
      load(bench, bench.connections * timesTooMany),
      monitor.run(healthChecks(bench)),
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
      },
    },
    {
      name: 'p99 of accepted requests then',
      value: middle(floods, 'p99Ms', 1),
      unit: 'ms',
      target: { atMost: 400 },
      detail: { p50Ms: middle(floods, 'p50Ms', 1), peakP99Ms: middle(peaks, 'p99Ms', 1) },
    },
    {
      name: 'p99 of health meanwhile',
      value: middle(health, 'p99Ms', 1),
      unit: 'ms',
      target: { atMost: 50 },
      detail: { p50Ms: middle(health, 'p50Ms', 1), checks: middle(health, 'answers') },
    },
  ];
}

function healthChecks({ atrium, roundMs }: Bench): Load {
  const requests = [requestBytes('GET', '/api/v1/system/health')];
  return { port: atrium.port, requests, status: 200, connections: 2, durationMs: roundMs, pace: healthChecksPerSecond };
}

function load({ atrium, seed, roundMs }: Bench, connections: number): Promise<LoadResult> {
  const requests = contactReads(seed);
  return runLoad({ port: atrium.port, requests, status: 200, refusal: 503, connections, durationMs: roundMs });
}
