import { describe, expect, it } from 'vitest';

import { modules } from '#app/modules';
import { newId } from '#core/base/crypto/ids';
import { deleteInBatches } from '#core/data/db/batches';
import { scheduleProblem } from '#core/platform/jobs/slots';
import { dispatcherOf } from '#core/platform/jobs/testing/jobs';
import { deleteDeliveredMail } from '#core/platform/mail/mail.queries';
import { withClient } from '#test/support/database';
import { createTenant, logIn } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });

const run = (text: string, values: unknown[] = []) =>
  withClient(test.connection, async (client) => (await client.query(text, values)).rows as { left: string }[]);

const day = 86_400_000;
const daysAgo = (days: number) => new Date(test.service.services.now().getTime() - days * day).toISOString();

/** What is left of the rows that the test made, by the name it gave each. */
const left = async (table: string, name: string) =>
  (await run(`select ${name} as left from ${table} where ${name} like 'kept%' or ${name} like 'gone%' order by 1`)).map(
    (row) => row.left,
  );

async function keepHouse(): Promise<void> {
  const signal = new AbortController().signal;
  for (const job of test.service.services.dispatcher.jobs) await job.run(signal);
}

function addMail(name: string, createdDaysAgo: number, sentDaysAgo: number | null): Promise<unknown> {
  const sentAt = sentDaysAgo === null ? null : daysAgo(sentDaysAgo);
  return run(
    `insert into mail_outbox (id, recipient, subject, body, created_at, next_attempt_at, sent_at)
     values ($1, $2, '', '', $3, $3, $4)`,
    [newId(), name, daysAgo(createdDaysAgo), sentAt],
  );
}

describe('the jobs of all modules', () => {
  it('have unique names, valid schedules and a handler', () => {
    const jobs = modules.flatMap((module) => module.jobs ?? []);
    expect(jobs.length).toBeGreaterThan(10);
    expect(new Set(jobs.map((job) => job.name)).size).toBe(jobs.length);
    for (const job of jobs) {
      expect(job.name).toMatch(/^[a-z][a-z-]+[a-z]$/);
      expect(scheduleProblem({ schedule: job.schedule, timezone: 'UTC' }, new Date())).toBeUndefined();
    }
    expect(test.service.services.dispatcher.jobs.map((job) => job.name)).toEqual(jobs.map((job) => job.name));
  });

  it('each run when they are due', async () => {
    const { database, log, now } = test.service.services;
    let time = now();
    const dispatcher = dispatcherOf(
      { database, log },
      { jobs: test.service.services.dispatcher.jobs, now: () => time },
    );
    await dispatcher.register();
    // A schedule may be monthly.
    time = new Date(time.getTime() + 32 * day);
    const answer = await dispatcher.dispatch('internal');
    const runs = await run('select distinct job_name as left from job_runs');
    const names = dispatcher.jobs.map((job) => job.name).toSorted();
    expect(runs.map((row) => row.left).toSorted()).toEqual(names);
    expect(answer).toMatchObject({ jobs_executed: dispatcher.jobs.length, jobs_failed: 0, jobs_skipped: 0 });
  });

  it('delete runs older than 30 days, and those above 1,000 for a job', async () => {
    const addRuns = (job: string, count: number, days: number) =>
      run(
        `insert into job_runs (id, job_name, trigger, status, started_at, lease_until, completed_at)
         select gen_random_uuid(), $1, 'manual', 'succeeded', $2::timestamptz - n * interval '1 second', $2, $2
         from generate_series(1, $3::int) as n`,
        [job, daysAgo(days), count],
      );
    await addRuns('gone', 3, 30.01);
    await addRuns('kept', 2, 29.99);
    await addRuns('kept most', 1010, 1);
    await keepHouse();
    const rows = await run(
      `select job_name || ' ' || count(*) as left from job_runs where job_name ~ '^(gone|kept)' group by job_name order by 1`,
    );
    expect(rows.map((row) => row.left)).toEqual(['kept 2', 'kept most 1000']);
  });

  it('deletes mails delivered more than 30 days ago, but no pending ones', async () => {
    await addMail('gone', 40, 30.01);
    await addMail('kept: delivered since', 40, 29.99);
    await addMail('kept: waits', 400, null);
    await keepHouse();
    expect(await left('mail_outbox', 'recipient')).toEqual(['kept: delivered since', 'kept: waits']);
  });

  it('deletes status transitions of connectors after 30 days, and call counts after a year', async () => {
    const addEvent = (name: string, days: number) =>
      run(
        `insert into connector_events (tenant_id, id, connector_id, provider, from_status, to_status, severity, reason, message,
           occurred_at) values ($1, $1, $1, $2, 'unknown', 'active', 'info', '', '', $3)`,
        [newId(), name, daysAgo(days)],
      );
    await addEvent('gone', 30.01);
    await addEvent('kept', 29.99);
    const addHour = (name: string, days: number) =>
      run(`insert into provider_call_hours values ($1, $2, 'models.list', $3, 1, 1, 0, 0, 0, 1, 0, 0)`, [
        newId(),
        daysAgo(days),
        name,
      ]);
    await addHour('gone', 366.01);
    await addHour('kept', 365.99);
    await keepHouse();
    expect(await left('connector_events', 'provider')).toEqual(['kept']);
    expect(await left('provider_call_hours', 'provider')).toEqual(['kept']);
  });

  it('deletes quota usage of ended periods, of months a month later', async () => {
    const add = (name: string, period: string, days: number) =>
      run(`insert into operation_quota values ($1, $2, 'requests', $3, $4, 1)`, [newId(), name, period, daysAgo(days)]);
    await add('gone: minute', 'minute', 2.01);
    await add('gone: day', 'day', 2.01);
    await add('kept: day', 'day', 1.99);
    await add('kept: month', 'month', 32);
    await add('gone: month', 'month', 33.01);
    await keepHouse();
    expect(await left('operation_quota', 'operation_key')).toEqual(['kept: day', 'kept: month']);
  });

  it('deletes security events of more than 90 days ago', async () => {
    const add = (name: string, days: number) =>
      run(
        `insert into security_events (id, created_at, event_type, details)
         values ($1, $2, 'login_failed', json_build_object('name', $3::text))`,
        [newId(), daysAgo(days), name],
      );
    await add('gone', 90.01);
    await add('kept', 89.99);
    await keepHouse();
    expect(await left('security_events', `details ->> 'name'`)).toEqual(['kept']);
  });

  it('deletes usage of credentials older than 400 days', async () => {
    const add = (name: string, days: number) =>
      run('insert into credential_usage values ($1, $2, $3, $4, 1, 0)', [newId(), newId(), daysAgo(days), name]);
    await add('gone', 400.01);
    await add('kept', 399.99);
    await keepHouse();
    expect(await left('credential_usage', 'operation')).toEqual(['kept']);
  });

  it('deletes sessions and tokens a month after they ended, and counters at once; active sessions stay valid', async () => {
    const tenant = await createTenant(test);
    const { email, password } = tenant.admin;
    const current = await logIn(test, { email, password });
    const addWindow = (key: string, days: number) =>
      run('insert into rate_limits values ($1, 1, $2)', [key, daysAgo(days)]);
    await addWindow('gone', 0.01);
    await addWindow('kept', -0.01);
    const count = async (table: string) => (await run(`select count(*) as left from ${table}`))[0]!.left;
    const tables = ['sessions', 'refresh_tokens', 'one_time_tokens'];
    const live = await Promise.all(tables.map(count));
    for (const days of [30.01, 29.99]) {
      const at = daysAgo(days);
      await run(
        `insert into sessions (tenant_id, id, user_id, account_id, created_at, last_used_at, idle_expires_at, expires_at)
         values ($1, $2, $2, $2, $3, $3, $3, $3)`,
        [tenant.tenantId, newId(), at],
      );
      await run('insert into refresh_tokens values ($1, $2, $2, $3, $3)', [Buffer.from(newId()), newId(), at]);
      await run(`insert into one_time_tokens values ($1, 'invitation', $2, '{}', $3, $3)`, [
        Buffer.from(newId()),
        newId(),
        at,
      ]);
    }
    await keepHouse();
    expect(await Promise.all(tables.map(count))).toEqual(live.map((rows) => String(Number(rows) + 1)));
    expect(await left('rate_limits', 'key')).toEqual(['kept']);
    expect((await test.call('GET', '/api/v1/auth/me', { token: current.token })).status).toBe(200);
  });

  it('deletes at most 5,000 rows per statement until all are deleted', async () => {
    const at = daysAgo(31);
    await run(
      `insert into mail_outbox (id, recipient, subject, body, created_at, next_attempt_at, sent_at)
       select gen_random_uuid(), 'gone ' || n, '', '', $1, $1, $1 from generate_series(1, 12001) as n`,
      [at],
    );
    const steps: { max: number; left: number }[] = [];
    const db = test.service.services.database.platform();
    const counting = {
      interactive: {
        ...db.interactive,
        all: async (query: Parameters<typeof db.interactive.all>[0]) => {
          const rows = await db.interactive.all(query);
          steps.push({ max: rows.length, left: (await left('mail_outbox', 'recipient')).length });
          return rows;
        },
      },
    } as typeof db;
    const next = (max: number) => deleteDeliveredMail({ before: daysAgo(30), max });
    const deleted = await deleteInBatches(counting, next, new AbortController().signal);
    expect(deleted).toBe(12_001);
    const kept = steps.at(-1)!.left;
    expect(steps).toEqual([
      { max: 5000, left: kept + 7001 },
      { max: 5000, left: kept + 2001 },
      { max: 2001, left: kept },
    ]);
  });

  it('stops before the next statement after an abort', async () => {
    const stop = new AbortController();
    const sent: number[] = [];
    const interactive = {
      all: (_query: unknown) => {
        sent.push(sent.length);
        if (sent.length === 2) stop.abort(new Error('enough'));
        return Promise.resolve(Array.from({ length: sent.length < 4 ? 5000 : 0 }));
      },
    };
    const next = (max: number) => deleteDeliveredMail({ before: daysAgo(30), max });
    const deleting = deleteInBatches({ interactive } as never, next, stop.signal);
    await expect(deleting).rejects.toThrow('enough');
    expect(sent).toEqual([0, 1]);
  });
});
