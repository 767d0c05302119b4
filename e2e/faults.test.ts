import { afterAll, expect, it } from 'vitest';

import { emptySummary, runRound } from './faults/campaign.ts';
import { Random } from './faults/random.ts';
import { Site } from './faults/site.ts';
import { Workplace } from './support/service.ts';

const workplace = new Workplace();
afterAll(() => workplace.clear());

// `npm run faults` does the same a hundred times over, with other seeds.
const seed = 20_261_122;

it('no acknowledged write is lost by three kills of the service and two of PostgreSQL', async () => {
  const random = new Random(seed);
  const summary = emptySummary();
  const site = new Site(workplace);
  await runRound(site, { workers: false, faults: ['service', 'backend'] }, { random, summary });
  await runRound(site, { workers: true, faults: ['worker', 'postmaster', 'service'] }, { random, summary });
  expect(summary.violations).toEqual([]);
  expect(summary.acknowledged).toBeGreaterThan(50);
}, 600_000);
