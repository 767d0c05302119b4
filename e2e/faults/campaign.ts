import { setTimeout as sleep } from 'node:timers/promises';

import { newTenant } from '../support/client.ts';
import { until } from '../support/service.ts';
import { compare, Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import { compareCounters, settle, type Site } from './site.ts';

export type Fault = 'service' | 'worker' | 'postmaster' | 'backend' | 'freeze';
export type Round = { workers: boolean; faults: Fault[] };

export type Summary = {
  faults: Record<Fault, number>;
  acknowledged: number;
  refused: number;
  cut: number;
  /** From the fault to the next acknowledged write, in milliseconds. */
  recoveries: number[];
  violations: string[];
};

const roundLength = 10;
/** In this turn, so that few kills are of each kind already. */
const databaseFaults: readonly Fault[] = ['backend', 'postmaster', 'freeze', 'backend', 'backend'];
const growthTimeoutMs = 60_000;
const recoveryLimitMs = 60_000;

/** Half of the kills hit a single process; of the others, every second the one that supervises two workers. */
export function plan({ kills, databaseKills }: { kills: number; databaseKills: number }, random: Random): Round[] {
  const single = Math.floor(kills / 2);
  const database = Array.from({ length: databaseKills }, (_, at) => databaseFaults[at % databaseFaults.length]!);
  const ofWorkers = Array.from({ length: kills - single }, (_, at): Fault => (at % 2 === 0 ? 'worker' : 'service'));
  const half = Math.floor(databaseKills / 2);
  return [
    ...rounds(
      false,
      random.shuffle([...Array.from({ length: single }, (): Fault => 'service'), ...database.slice(0, half)]),
    ),
    ...rounds(true, random.shuffle([...ofWorkers, ...database.slice(half)])),
  ];
}

function rounds(workers: boolean, faults: readonly Fault[]): Round[] {
  const count = Math.ceil(faults.length / roundLength);
  return Array.from({ length: count }, (_, at) => ({
    workers,
    faults: faults.slice(at * roundLength, (at + 1) * roundLength),
  }));
}

export function emptySummary(): Summary {
  const faults = { service: 0, worker: 0, postmaster: 0, backend: 0, freeze: 0 };
  return { faults, acknowledged: 0, refused: 0, cut: 0, recoveries: [], violations: [] };
}

/** One tenant of its own, a few faults while it writes, and at the end every write compared with the ledger. */
export async function runRound(site: Site, round: Round, { random, summary }: Run): Promise<void> {
  await site.start(round.workers);
  await site.allowLoad();
  const { client } = await newTenant(site.base);
  const ledger = new Ledger(client, random);
  ledger.write();
  try {
    for (const planned of round.faults) {
      const fault = planned === 'postmaster' && !site.mayKillPostmaster ? 'backend' : planned;
      await growBy(ledger, random.between(5, 60));
      await sleep(random.below(50));
      await suffer(site, ledger, { fault, random, summary });
      summary.faults[fault]++;
    }
    await growBy(ledger, 20);
  } finally {
    await ledger.stop();
    ledger.mayCut = false;
  }
  await site.untilReady(200);
  const problems = await settle(async () => [...(await compare(ledger)), ...(await compareCounters(site))]);
  summary.violations.push(...ledger.violations, ...problems);
  summary.acknowledged += ledger.acknowledged;
  summary.refused += ledger.refused;
  summary.cut += ledger.cut;
  const { code } = await site.service.kill('SIGTERM');
  if (code !== 0) summary.violations.push(`SIGTERM ended with ${code}: ${site.service.stderr}`);
}

type Run = { random: Random; summary: Summary };

async function suffer(site: Site, ledger: Ledger, { fault, random, summary }: Run & { fault: Fault }): Promise<void> {
  const began = Date.now();
  ledger.mayCut = fault === 'service' || fault === 'worker';
  if (fault === 'service') {
    await site.killService();
    ledger.leave();
    await site.start(site.workers);
    ledger.moveTo(site.base);
  } else if (fault === 'worker') await site.killWorker(random);
  else if (fault === 'postmaster') await site.killPostmaster();
  else if (fault === 'backend') site.killBackend(random);
  else {
    await site.freeze(async () => {
      // Health must not claim that requests are answered while none can be; the process itself is well.
      await site.untilReady(503);
      if (!(await site.isServing()))
        summary.violations.push('the service itself did not answer while PostgreSQL stood still');
    });
  }
  await growBy(ledger, 1, recoveryLimitMs);
  summary.recoveries.push(Date.now() - began);
  await site.untilReady(200);
  // What broke, broke by now: each writer has come back since.
  if (ledger.mayCut) await growBy(ledger, 12);
  ledger.mayCut = false;
}

async function growBy(ledger: Ledger, by: number, timeoutMs = growthTimeoutMs): Promise<void> {
  const goal = ledger.acknowledged + by;
  await until(`${by} more writes are acknowledged`, () => ledger.acknowledged >= goal, timeoutMs);
}
