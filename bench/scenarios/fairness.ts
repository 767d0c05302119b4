import { send } from '../api.ts';
import { requestBytes, type Load, type LoadResult } from '../load.ts';
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

type Pair = { quiet: LoadResult; flood: LoadResult };
type Results = { alone: LoadResult[]; flooded: Pair[]; floorFlooded: Pair[] };

function toFigure({ alone, flooded, floorFlooded }: Results): Figure {
  const ratios = flooded.map(({ quiet }, at) => round(quiet.p99Ms / alone[at]!.p99Ms));
  const middle = (results: readonly LoadResult[], key: keyof LoadResult) =>
    round(median(results.map((result) => result[key])), 1);
  const of = (pairs: readonly Pair[], side: keyof Pair, key: keyof LoadResult) =>
    middle(
      pairs.map((pair) => pair[side]),
      key,
    );
  return {
    name: 'p99 of quiet tenants in a flood',
    value: round(median(ratios)),
    unit: 'ratio',
    target: { atMost: 2 },
    detail: {
      ratios,
      aloneP50Ms: middle(alone, 'p50Ms'),
      aloneP99Ms: middle(alone, 'p99Ms'),
      floodedP50Ms: of(flooded, 'quiet', 'p50Ms'),
      floodedP99Ms: of(flooded, 'quiet', 'p99Ms'),
      floorFloodedP99Ms: of(floorFlooded, 'quiet', 'p99Ms'),
      floorFloodPerSecond: of(floorFlooded, 'flood', 'perSecond'),
      floodPerSecond: of(flooded, 'flood', 'perSecond'),
      floodP99Ms: of(flooded, 'flood', 'p99Ms'),
      floodRefusals: of(flooded, 'flood', 'refusals'),
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
