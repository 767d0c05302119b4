import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { openDatabase, type Database } from '#core/data/db/database';
import { clockAt, dispatcherOf, jobOf, minute, runsOf } from '#core/platform/jobs/testing/jobs';
import { patientTiming, useService } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const test = useService({ ownDatabase: true });
const rounds = 20;
let databases: Database[] = [];

// As many processes would be: each with connections of its own.
beforeAll(() => {
  databases = Array.from({ length: 5 }, () => openDatabase({ connection: test.connection, timing: patientTiming }));
});
afterAll(() => Promise.all(databases.map((database) => database.close())));

it(`runs each slot once with fifty concurrent dispatches, ${rounds} times`, async () => {
  const clock = clockAt('2026-03-10T10:00:00Z');
  const counts = new Map<string, number>();
  const jobs = (['skip', 'run_once', 'all'] as const).map((catchUp) => {
    const job = jobOf({ catchUp });
    const run = () => {
      counts.set(job.name, (counts.get(job.name) ?? 0) + 1);
      return Promise.resolve(undefined);
    };
    return { ...job, run };
  });
  const { log } = test.service.services;
  const dispatchers = databases.map((database) => dispatcherOf({ database, log }, { jobs, now: clock.now }));
  await dispatchers[0]!.register();

  for (let round = 1; round <= rounds; round++) {
    clock.move(minute);
    const asked = Array.from({ length: 50 }, (_none, at) =>
      dispatchers[at % dispatchers.length]!.dispatch(at % 2 === 0 ? 'external' : 'internal'),
    );
    const answers = await Promise.all(asked);
    const executed = answers.reduce((sum, answer) => sum + answer.jobs_executed, 0);
    expect({ round, executed, failed: answers.filter((answer) => answer.jobs_failed > 0) }).toEqual({
      round,
      executed: jobs.length,
      failed: [],
    });
  }
  for (const { name } of jobs) {
    const runs = await runsOf(test.service.services.database, name);
    expect(counts.get(name)).toBe(rounds);
    expect(new Set(runs.map((run) => run.slot)).size).toBe(rounds);
    expect(runs.every((run) => run.status === 'succeeded' && run.attempt === 1)).toBe(true);
  }
}, 300_000);
