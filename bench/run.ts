import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { findCores, highestMemoryMb, pin, withDescendants, type Cores } from './machine.ts';
import { startAtrium, startFloor, startHashRate, type Atrium } from './processes/start.ts';
import { isMet, median, round, type Bench, type Figure, type Scenario } from './scenario.ts';
import { analytics } from './scenarios/analytics.ts';
import { apiKey } from './scenarios/api-key.ts';
import { auditGrowth } from './scenarios/audit-growth.ts';
import { bounds } from './scenarios/bounds.ts';
import { categoryMove } from './scenarios/category-move.ts';
import { create } from './scenarios/create.ts';
import { fairness } from './scenarios/fairness.ts';
import { files } from './scenarios/files.ts';
import { growth } from './scenarios/growth.ts';
import { hostile } from './scenarios/hostile.ts';
import { list } from './scenarios/list.ts';
import { logExport } from './scenarios/log-export.ts';
import { logging } from './scenarios/logging.ts';
import { login } from './scenarios/login.ts';
import { mcp } from './scenarios/mcp.ts';
import { notifications } from './scenarios/notifications.ts';
import { outbound } from './scenarios/outbound.ts';
import { overload } from './scenarios/overload.ts';
import { read } from './scenarios/read.ts';
import { translation } from './scenarios/translation.ts';
import { seed } from './seed.ts';

/** Those on pinned cores first, then those that need all of them. */
const pinned: readonly Scenario[] = [read, apiKey, mcp, list, create, logging, growth, auditGrowth, translation];
const unpinned: readonly Scenario[] = [
  outbound,
  notifications,
  login,
  categoryMove,
  analytics,
  logExport,
  fairness,
  overload,
  files,
  hostile,
  bounds,
];

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } },
});
const extent = options.quick
  ? { rounds: 3, roundMs: 1200, people: 48, warmStarts: 2 }
  : { rounds: 6, roundMs: 3000, people: 128, warmStarts: 3 };

const folder = mkdtempSync(path.join(tmpdir(), 'atrium-bench-'));
// PostgreSQL runs as another user when the bench runs as root, and has to pass through.
chmodSync(folder, 0o711);
const figures: Figure[] = [];
const named = options.only?.split(',') ?? [];
try {
  await run();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
print(figures);
if (options.only === undefined) save(figures);

async function run(): Promise<void> {
  const cores = findCores();
  const start = () => startAtrium(path.join(folder, 'data'), path.join(folder, 'atrium.log'));
  let atrium = await start();
  try {
    const firstStartMs = atrium.startMs;
    const seeded = await seed(atrium, extent.people);
    const warmStarts: number[] = [];
    for (let at = 0; at < extent.warmStarts; at++) {
      await atrium.stop();
      atrium = await start();
      warmStarts.push(atrium.startMs);
    }
    figures.push(
      { ...seconds('first start', [firstStartMs]), target: { atMost: 5 } },
      { ...seconds('warm start', warmStarts), target: { atMost: 2 } },
    );
    const { floor, hashRate } = await startFloors(atrium, seeded);
    try {
      const machine = { cores, isQuick: options.quick, named };
      const bench: Bench = { ...extent, ...machine, atrium, floor, hashRate, seed: seeded, connections: 32 };
      await runScenarios(bench, cores);
    } finally {
      await Promise.all([floor.stop(), hashRate.stop()]);
    }
    const peak = round(highestMemoryMb(atrium.pid), 0);
    figures.push({ name: 'peak memory', value: peak, unit: 'MB', target: { atMost: 200 }, detail: {} });
  } finally {
    await atrium.stop();
  }
}

async function startFloors(atrium: Atrium, ids: { tenantId: string; userId: string }) {
  // As many hashes at once as the service does: it keeps one core for everything else.
  const hashRate = await startHashRate(Math.max(1, availableParallelism() - 1));
  return { hashRate, floor: await startFloor(atrium.connection, ids) };
}

async function runScenarios(bench: Bench, cores: Cores): Promise<void> {
  const wanted = ({ name, isByNameOnly = false }: Scenario) =>
    named.length === 0 ? !isByNameOnly : named.includes(name);
  const database = () => withDescendants(bench.atrium.postmaster);
  if (cores !== undefined) {
    pin([bench.atrium.pid, bench.floor.pid], cores.server);
    pin([process.pid, ...database()], cores.rest);
  }
  for (const scenario of pinned.filter(wanted)) figures.push(...(await scenario.run(bench)));
  if (cores !== undefined) {
    pin([bench.atrium.pid, process.pid, ...database()], `${cores.server},${cores.rest}`);
  }
  for (const scenario of unpinned.filter(wanted)) figures.push(...(await scenario.run(bench)));
}

function seconds(name: string, durationsMs: readonly number[]): Omit<Figure, 'target'> {
  const detail = { runs: durationsMs.map((durationMs) => round(durationMs / 1000)) };
  return { name, value: round(median(durationsMs) / 1000), unit: 's', detail };
}

function print(all: readonly Figure[]): void {
  const rows = all.map((figure) => [
    figure.name,
    `${figure.value.toFixed(figure.unit === 'MB' ? 0 : 2)}${figure.unit === 'ratio' ? '' : ` ${figure.unit}`}`,
    'atLeast' in figure.target ? `>= ${figure.target.atLeast}` : `<= ${figure.target.atMost}`,
    isMet(figure) ? 'met' : 'MISSED',
    Object.entries(figure.detail)
      .filter(([, value]) => !Array.isArray(value))
      .map(([name, value]) => `${name} ${String(value)}`)
      .join(', '),
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) {
    process.stdout.write(`${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}\n`);
  }
}

function save(all: readonly Figure[]): void {
  const results = new URL('results/', import.meta.url);
  mkdirSync(results, { recursive: true });
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const report = {
    date: new Date().toISOString(),
    version,
    extent: options.quick ? 'quick' : 'full',
    node: process.version,
    machine: {
      platform: `${process.platform}-${process.arch}`,
      processor: cpus()[0]?.model ?? 'unknown',
      cores: availableParallelism(),
      memoryGb: Math.round(totalmem() / 2 ** 30),
    },
    figures: all.map((figure) => ({ ...figure, met: isMet(figure) })),
  };
  writeFileSync(new URL('latest.json', results), `${JSON.stringify(report, null, 2)}\n`);
}
