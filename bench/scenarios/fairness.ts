import { send } from '../api.ts';
import { percentiles, requestBytes, type Load, type LoadResult, type Measured } from '../load.ts';
import { contactReads } from '../paced-reads.ts';
import { startLoader, type Loader } from '../processes/start.ts';
import { median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';
import { logIn } from '../seed.ts';

const quietTenants = 9;
const floodConnections = 300;
/** Of all quiet tenants together: far below saturation. */
const perSecond = 180;

/** Nine tenants that read now and then, alone and while another tenant has 300 requests under way at any time. */
export const fairness: Scenario = {
  name: 'fairness',
  async run(bench) {
    const requests = await quietReads(bench);
    // One process for each, so that the flood does not delay the others before their requests have left.
    const [quiet, flood] = await Promise.all([startLoader(), startLoader()]);
    try {
      return [await measure(bench, { quiet, flood, requests })];
    } finally {
      await Promise.all([quiet.stop(), flood.stop()]);
    }
  },
};

type Loaders = { quiet: Loader; flood: Loader; requests: readonly Buffer[] };

async function measure(bench: Bench, { quiet, flood, requests }: Loaders): Promise<Figure> {
  const { atrium, roundMs, rounds } = bench;
  const calm: Load = {
    port: atrium.port,
    requests,
    status: 200,
    connections: 2 * quietTenants,
    durationMs: roundMs,
    pace: perSecond,
  };
  const { flooding, floodingFloor } = floodsOf(bench);
  const readDuring = async (load: Load): Promise<Pair> => {
    const [quietResult, floodResult] = await Promise.all([quiet.run(calm), flood.run(load)]);
    return { quiet: quietResult, flood: floodResult };
  };
  await quiet.run(calm);
  const results: Results = { alone: [], flooded: [], floorFlooded: [] };
  for (let at = 0; at < rounds; at++) {
    if (at % 2 === 0) results.alone.push(await quiet.run(calm));
    results.flooded.push(await readDuring(flooding));
    results.floorFlooded.push(await readDuring(floodingFloor));
    if (at % 2 === 1) results.alone.push(await quiet.run(calm));
  }
  return toFigure(results);
}

function floodsOf({ atrium, floor, roundMs, seed }: Bench): { flooding: Load; floodingFloor: Load } {
  const flooding: Load = {
    port: atrium.port,
    requests: contactReads(seed),
    status: 200,
    refusal: 503,
    connections: floodConnections,
    durationMs: roundMs,
  };
  // The same flood at another process that shares the cores and the database: what the machine itself costs the quiet tenants.
  const reads = seed.contactIds.map((id) => requestBytes('GET', `/contacts/${id}`));
  return { flooding, floodingFloor: { ...flooding, port: floor.port, requests: reads } };
}

type Pair = { quiet: Measured; flood: Measured };
type Results = { alone: Measured[]; flooded: Pair[]; floorFlooded: Pair[] };

function toFigure(results: Results): Figure {
  const pool = (rounds: readonly Measured[]) => {
    const latenciesMs = rounds.flatMap((one) => one.latenciesMs);
    return { ...percentiles(latenciesMs), reads: latenciesMs.length };
  };
  const flooded = results.flooded.map(({ quiet }) => quiet);
  const [alone, crowded, control] = [
    pool(results.alone),
    pool(flooded),
    pool(results.floorFlooded.map(({ quiet }) => quiet)),
  ];
  const ofFlood = (pairs: readonly Pair[], key: keyof LoadResult) =>
    round(median(pairs.map(({ flood }) => flood[key])), 1);
  return {
    name: 'p99 of quiet tenants in a flood',
    value: round(crowded.p99Ms / alone.p99Ms),
    unit: 'ratio',
    target: { atMost: 2 },
    detail: {
      // The noise of the single rounds.
      ratios: flooded.map(({ p99Ms }, at) => round(p99Ms / results.alone[at]!.p99Ms)),
      aloneReads: alone.reads,
      aloneP50Ms: round(alone.p50Ms, 1),
      aloneP99Ms: round(alone.p99Ms, 1),
      floodedReads: crowded.reads,
      floodedP50Ms: round(crowded.p50Ms, 1),
      floodedP99Ms: round(crowded.p99Ms, 1),
      floorFloodedReads: control.reads,
      floorFloodedP50Ms: round(control.p50Ms, 1),
      floorFloodedP99Ms: round(control.p99Ms, 1),
      floorFloodedRatio: round(control.p99Ms / alone.p99Ms),
      floorFloodPerSecond: ofFlood(results.floorFlooded, 'perSecond'),
      floodPerSecond: ofFlood(results.flooded, 'perSecond'),
      floodP99Ms: ofFlood(results.flooded, 'p99Ms'),
      floodRefusals: ofFlood(results.flooded, 'refusals'),
    },
  };
}

/** A contact of each quiet tenant by its id. */
async function quietReads(bench: Bench): Promise<Buffer[]> {
  const people = bench.seed.people.slice(0, quietTenants);
  return Promise.all(
    people.map(async (person) => {
      const token = await logIn(bench.atrium, person);
      const { data } = await send<{ data: { id: string } }>(bench, token, 'POST secure/contacts', { firstName: 'Ada' });
      return requestBytes('GET', `/api/v1/secure/contacts/${data.id}`, { token });
    }),
  );
}
