import { runLoad, type LoadResult } from './load.ts';
import { cpuSeconds, withDescendants, type Cores } from './machine.ts';
import type { Atrium, Floor, HashRate } from './processes/start.ts';
import type { Seed } from './seed.ts';

/** What every scenario finds running. */
export type Bench = {
  atrium: Atrium;
  floor: Floor;
  hashRate: HashRate;
  seed: Seed;
  rounds: number;
  roundMs: number;
  connections: number;
  cores: Cores;
  isQuick: boolean;
  /** Scenarios that were asked for by name; empty when all are. */
  named: readonly string[];
};

export type Target = { atLeast: number } | { atMost: number };

/** One line of the result: a ratio or an absolute figure against its target of the design. */
export type Figure = {
  name: string;
  value: number;
  unit: 'ratio' | 's' | 'ms' | 'MB' | 'per s';
  target: Target;
  /** The measurements behind the value, for analysis. */
  detail: Record<string, number | number[]>;
};

export type Scenario = {
  name: string;
  /** Not part of the whole run, whose other figures it would spoil. */
  isByNameOnly?: boolean;
  run(bench: Bench): Promise<Figure[]>;
};

export function isMet({ value, target }: Figure): boolean {
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function round(value: number, digits = 3): number {
  return Number(value.toFixed(digits));
}

type Side = {
  port: number;
  pid: number;
  requests: readonly Buffer[];
  status: number;
  /** What the details call it, where it is not what the name of the side says. */
  label?: string;
};

/** Both sides in turns A B, B A, …, so that a machine that gets slower meanwhile slows both; the ratio is taken per pair. */
export async function compare(
  bench: Bench,
  name: string,
  sides: { floor: Side; atrium: Side },
  target: Target,
): Promise<Figure> {
  const measure = async (side: Side, durationMs: number) => {
    const database = withDescendants(bench.atrium.postmaster);
    const before = [cpuSeconds([side.pid]), cpuSeconds(database), cpuSeconds([process.pid])];
    const { port, requests, status } = side;
    const result = await runLoad({ port, requests, status, connections: bench.connections, durationMs });
    const spent = (at: number, now: number) => ((now - before[at]!) / result.answers) * 1e6;
    return {
      ...result,
      cpuUs: spent(0, cpuSeconds([side.pid])),
      databaseUs: spent(1, cpuSeconds(database)),
      loadUs: spent(2, cpuSeconds([process.pid])),
    };
  };
  await measure(sides.floor, bench.roundMs / 2);
  await measure(sides.atrium, bench.roundMs / 2);
  const floor: Measured[] = [];
  const atrium: Measured[] = [];
  for (let at = 0; at < bench.rounds; at++) {
    if (at % 2 === 0) floor.push(await measure(sides.floor, bench.roundMs));
    atrium.push(await measure(sides.atrium, bench.roundMs));
    if (at % 2 === 1) floor.push(await measure(sides.floor, bench.roundMs));
  }
  const ratios = atrium.map((result, at) => round(result.perSecond / floor[at]!.perSecond));
  const cpuRatios = atrium.map((result, at) => floor[at]!.cpuUs / result.cpuUs);
  const detail = {
    ratios,
    cpuRatio: round(median(cpuRatios)),
    ...describe(sides.floor.label ?? 'floor', floor),
    ...describe(sides.atrium.label ?? 'atrium', atrium),
  };
  return { name, value: round(median(ratios)), unit: 'ratio', target, detail };
}

type Measured = LoadResult & { cpuUs: number; databaseUs: number; loadUs: number };

function describe(side: string, results: readonly Measured[]): Record<string, number> {
  const of = (key: keyof Measured, digits: number) => round(median(results.map((result) => result[key])), digits);
  return {
    [`${side}PerSecond`]: of('perSecond', 0),
    [`${side}P99Ms`]: of('p99Ms', 2),
    [`${side}CpuUs`]: of('cpuUs', 0),
    [`${side}DatabaseUs`]: of('databaseUs', 0),
    [`${side}LoadUs`]: of('loadUs', 0),
  };
}
