import { parseArgs } from 'node:util';

import { Workplace } from '../support/service.ts';
import { emptySummary, plan, runRound, type Summary } from './campaign.ts';
import { loseRedis, fillDisk } from './extras.ts';
import { disturbDatabase } from './outages.ts';
import { Random } from './random.ts';
import { Site } from './site.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    'database-kills': { type: 'string', default: '50' },
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

const random = new Random(Number(values.seed));
const workplace = new Workplace();
const summary = emptySummary();
const deadline = Date.now() + Number(values.minutes) * 60_000;

try {
  const site = new Site(workplace);
  const planned = plan({ kills: Number(values.kills), databaseKills: Number(values['database-kills']) }, random);
  console.log(`seed ${random.seed}: ${planned.length} rounds`);
  for (const [at, round] of planned.entries()) {
    if (Date.now() > deadline) {
      console.log(`the ${values.minutes} minutes are over, ${planned.length - at} rounds are left out`);
      break;
    }
    await runRound(site, round, { random, summary });
    console.log(`round ${at + 1} (${round.workers ? 'two workers' : 'one process'}): ${round.faults.join(' ')}`);
    if (summary.violations.length > 0) break;
  }
  console.log(`Redis gone: ${await loseRedis(workplace, summary)}`);
  console.log(`database: ${await disturbDatabase(workplace, summary)}`);
  console.log(`disk full: ${await fillDisk(workplace, { random, summary })}`);
} catch (error) {
  summary.violations.push((error as Error).stack ?? String(error));
} finally {
  await workplace.clear();
}
report(summary);
process.exitCode = summary.violations.length === 0 ? 0 : 1;

function report({ faults, acknowledged, refused, cut, recoveries, violations }: Summary): void {
  const sorted = recoveries.toSorted((left, right) => left - right);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
  console.log(
    [
      `seed           ${random.seed}`,
      `faults         ${Object.entries(faults)
        .map(([name, count]) => `${count} ${name}`)
        .join(', ')}`,
      `writes         ${acknowledged} acknowledged, ${refused} refused with 503 and Retry-After, ${cut} cut off`,
      `recovery       median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms from the fault to the next write`,
      `violations     ${violations.length}`,
      ...violations,
    ].join('\n'),
  );
}
