import { describe, expect, it, vi } from 'vitest';

import type { ServiceState } from '#core/platform/health/health';
import type { BoundJob } from '#core/platform/jobs/terms';
import { alertsOf, clockAt, dispatcherOf, intercepted, jobOf, minute } from '#core/platform/jobs/testing/jobs';
import { useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });
const alerts = (subject: string) => alertsOf(test.service.services.database, subject);
const start = '2026-03-10T10:00:00Z';

/** A job that fails, or takes as long, as the test says. */
async function begin(terms: Parameters<typeof jobOf>[0] = {}, states: ServiceState[] = []) {
  const clock = clockAt(start);
  const how = { error: undefined as string | undefined, tookMs: 0 };
  const job = jobOf({
    run: () => {
      clock.move(how.tookMs);
      return how.error === undefined ? Promise.resolve(undefined) : Promise.reject(new Error(how.error));
    },
    ...terms,
  });
  const health = { states: () => Promise.resolve(states) };
  const dispatcher = dispatcherOf(test.service.services, { jobs: [job], now: clock.now, health });
  await dispatcher.register();
  const next = () => {
    clock.set(new Date(Math.floor(clock.now().getTime() / minute) * minute + minute).toISOString());
    return dispatcher.dispatch('external');
  };
  return { clock, how, job, dispatcher, next };
}

describe('job_failed', () => {
  it('counts up while it goes on, becomes critical with the third, and ends with the first success', async () => {
    const { how, job, next } = await begin();
    how.error = 'no room';
    const sent = [await next(), await next()].map((answer) => answer.alerts_sent);
    expect(sent).toEqual([1, 0]);
    expect(await alerts(job.name)).toMatchObject([
      {
        type: 'job_failed',
        severity: 'warning',
        occurrences: 2,
        message: '2 times in a row: no room',
        resolved_at: null,
      },
    ]);
    await next();
    expect(await alerts(job.name)).toMatchObject([{ severity: 'critical', occurrences: 3 }]);
    how.error = undefined;
    await next();
    expect(await alerts(job.name)).toMatchObject([{ occurrences: 3, resolved_at: '2026-03-10T10:04:00.000Z' }]);
  });

  it('is another alert when it fails again after that', async () => {
    const { how, job, next } = await begin();
    for (const error of ['one', undefined, 'two']) {
      how.error = error;
      await next();
    }
    expect(await alerts(job.name)).toMatchObject([
      { message: 'one', resolved_at: expect.any(String) },
      { message: 'two', severity: 'warning', occurrences: 1, resolved_at: null },
    ]);
  });

  it('has a line in the log, once', async () => {
    const { how, job, next } = await begin();
    how.error = 'no room';
    await next();
    await next();
    const lines = test.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter((line) => line.subject === job.name)).toEqual([
      expect.objectContaining({ type: 'job_failed', severity: 'warning', explanation: 'no room' }),
    ]);
  });

  it('has to be taken note of again when it becomes critical', async () => {
    const { how, job, next } = await begin();
    how.error = 'no room';
    await next();
    const acknowledge = {
      kind: 'write' as const,
      text: 'update dispatcher_alerts set acknowledged = true where subject = $1',
      values: [job.name],
      prepare: false,
    };
    await test.service.services.database.platform().interactive.all(acknowledge);
    await next();
    expect(await alerts(job.name)).toMatchObject([{ acknowledged: true, severity: 'warning' }]);
    await next();
    expect(await alerts(job.name)).toMatchObject([{ acknowledged: false, severity: 'critical' }]);
    await test.service.services.database.platform().interactive.all(acknowledge);
    await next();
    expect(await alerts(job.name)).toMatchObject([{ acknowledged: true, severity: 'critical' }]);
  });
});

describe('job_missed', () => {
  it('comes with a slot that was not started for two minutes, and ends with the next one in time', async () => {
    const { clock, job, dispatcher, next } = await begin({ schedule: '0,30 * * * *' });
    clock.set('2026-03-10T10:32:00.000Z');
    expect((await dispatcher.dispatch('external')).alerts_sent).toBe(0);
    clock.set('2026-03-10T11:02:00.001Z');
    expect((await dispatcher.dispatch('external')).alerts_sent).toBe(1);
    expect(await alerts(job.name)).toMatchObject([
      {
        type: 'job_missed',
        severity: 'warning',
        message: 'The run of 2026-03-10T11:00:00.000Z was not started within 2 minutes.',
        resolved_at: null,
      },
    ]);
    for (let count = 0; count < 28; count++) await next();
    expect(clock.now().toISOString()).toBe('2026-03-10T11:30:00.000Z');
    expect(await alerts(job.name)).toMatchObject([{ occurrences: 1, resolved_at: '2026-03-10T11:30:00.000Z' }]);
  });
});

describe('job_slow', () => {
  it('comes with a run of more than half of its time, and ends with the next that is not', async () => {
    const { how, job, next } = await begin({ timeoutMs: 20_000 });
    how.tookMs = 10_000;
    await next();
    expect(await alerts(job.name)).toEqual([]);
    how.tookMs = 10_001;
    await next();
    expect(await alerts(job.name)).toMatchObject([{ type: 'job_slow', severity: 'warning', resolved_at: null }]);
    how.tookMs = 10_000;
    await next();
    expect(await alerts(job.name)).toMatchObject([{ occurrences: 1, resolved_at: expect.any(String) }]);
  });

  it('comes with a run of more than three times what is usual, of five runs or more', async () => {
    const { how, job, next } = await begin();
    how.tookMs = 7000;
    await next();
    how.tookMs = 2000;
    for (let count = 0; count < 4; count++) await next();
    expect(await alerts(job.name)).toEqual([]);
    how.tookMs = 6000;
    await next();
    expect(await alerts(job.name)).toEqual([]);
    how.tookMs = 6001;
    await next();
    expect(await alerts(job.name)).toMatchObject([{ type: 'job_slow' }]);
  });

  it('never comes with what takes less than five seconds', async () => {
    const { how, job, next } = await begin();
    for (let count = 0; count < 6; count++) await next();
    how.tookMs = 5000;
    await next();
    expect(await alerts(job.name)).toEqual([]);
  });
});

describe('an alert about a job', () => {
  it('ends when the job is switched off', async () => {
    const { clock, how, job, dispatcher, next } = await begin();
    how.error = 'no room';
    await next();
    expect(await alerts(job.name)).toMatchObject([{ resolved_at: null }]);
    const text = 'update jobs set enabled = false where name = $1';
    await test.service.services.database
      .platform()
      .interactive.all({ kind: 'write', text, values: [job.name], prepare: false });
    clock.move(minute);
    await dispatcher.dispatch('internal');
    expect(await alerts(job.name)).toMatchObject([{ resolved_at: clock.now().toISOString() }]);
  });

  it('ends when the code knows the job no more', async () => {
    const { how, job, next } = await begin();
    how.error = 'no room';
    await next();
    expect(await alerts(job.name)).toMatchObject([{ resolved_at: null }]);
    const others = dispatcherOf(test.service.services, { jobs: [jobOf()], now: clockAt(start).now });
    await others.dispatch('internal');
    expect(await alerts(job.name)).toMatchObject([{ resolved_at: '2026-03-10T10:00:00.000Z' }]);
  });

  it('that cannot be written keeps no job from its run', async () => {
    const clock = clockAt(start);
    const run = vi.fn<BoundJob['run']>(() => Promise.resolve(undefined));
    const job = jobOf({ schedule: '0 * * * *', run });
    const { database: whole, log } = test.service.services;
    const database = intercepted(whole, ({ text }) => {
      if (text.includes('"dispatcher_alerts"')) throw new Error('planted: no alerts');
    });
    const dispatcher = dispatcherOf({ database, log }, { jobs: [job], now: clock.now });
    await dispatcher.register();
    for (const at of ['2026-03-10T11:30:00Z', '2026-03-10T12:00:00Z']) {
      clock.set(at);
      expect(await dispatcher.dispatch('internal')).toMatchObject({ jobs_executed: 1, jobs_failed: 0 });
    }
    expect(run).toHaveBeenCalledTimes(2);
    expect(test.logLines.some((line) => line.includes('planted: no alerts'))).toBe(true);
  });
});

describe('service_unhealthy', () => {
  const state = (name: string, status: ServiceState['status']): ServiceState => ({
    name,
    status,
    message: `is ${status}`,
    responseTime: 1,
    timestamp: start,
  });

  it('comes while a service does not answer, and ends when it does', async () => {
    const states = [state('postman', 'unhealthy'), state('printer', 'degraded')];
    const { next } = await begin({}, states);
    const first = await next();
    expect(first).toMatchObject({ alerts_sent: 1, health: { overall: 'degraded' } });
    expect(first.health?.services).toEqual([
      { service_name: 'postman', status: 'unhealthy', message: 'is unhealthy' },
      { service_name: 'printer', status: 'degraded', message: 'is degraded' },
    ]);
    expect((await next()).alerts_sent).toBe(0);
    expect(await alerts('postman')).toMatchObject([{ severity: 'critical', occurrences: 2, resolved_at: null }]);
    expect(await alerts('printer')).toEqual([]);
    states.splice(0, 2, state('postman', 'healthy'));
    expect((await next()).health?.overall).toBe('healthy');
    expect(await alerts('postman')).toMatchObject([{ resolved_at: '2026-03-10T10:03:00.000Z' }]);
  });

  it('is looked for once a minute while nothing is run', async () => {
    const clock = clockAt(start);
    const states = vi.fn<() => Promise<ServiceState[]>>(() => Promise.resolve([state('parrot', 'unhealthy')]));
    const dispatcher = dispatcherOf(test.service.services, { jobs: [], now: clock.now, health: { states } });
    for (const ms of [0, minute - 1, 1]) {
      clock.move(ms);
      await dispatcher.dispatch('internal');
    }
    expect(states).toHaveBeenCalledTimes(2);
    expect(await alerts('parrot')).toMatchObject([{ severity: 'critical', occurrences: 2, resolved_at: null }]);
  });
});

describe('unauthorized_calls', () => {
  it('comes with the twentieth wrong secret in a minute from one address, and ends after ten quiet minutes', async () => {
    const clock = clockAt(start);
    const dispatcher = dispatcherOf(test.service.services, { jobs: [], now: clock.now, secret: 'right' });
    const wrong = async (times: number, address: string) => {
      for (let count = 0; count < times; count++) await dispatcher.secret.noteWrong({ 'x-cron-secret': 'x' }, address);
    };
    await wrong(19, '192.0.2.1');
    await wrong(19, '192.0.2.2');
    clock.move(minute);
    await wrong(19, '192.0.2.1');
    for (let count = 0; count < 5; count++) await dispatcher.secret.noteWrong({}, '192.0.2.1');
    expect(await alerts('192.0.2.1')).toEqual([]);
    await wrong(1, '192.0.2.1');
    expect(await alerts('192.0.2.1')).toMatchObject([{ type: 'unauthorized_calls', occurrences: 1 }]);
    expect(await alerts('192.0.2.2')).toEqual([]);
    clock.move(10 * minute);
    await dispatcher.dispatch('external');
    expect(await alerts('192.0.2.1')).toMatchObject([{ resolved_at: null }]);
    clock.move(1);
    await dispatcher.dispatch('external');
    expect(await alerts('192.0.2.1')).toMatchObject([{ resolved_at: expect.any(String) }]);
  });

  it('comes once a minute from one network, also if it calls from several addresses', async () => {
    const clock = clockAt(start);
    const statements: string[] = [];
    const { database: whole, log } = test.service.services;
    const database = intercepted(whole, ({ text }) => void statements.push(text));
    const dispatcher = dispatcherOf({ database, log }, { jobs: [], now: clock.now, secret: 'right' });
    const flood = async (times: number) => {
      for (let count = 0; count < times; count++)
        await dispatcher.secret.noteWrong({ 'x-cron-secret': 'x' }, `2001:db8:1:2::${(count % 50).toString(16)}`);
    };
    await flood(200);
    clock.move(minute - 1);
    await flood(200);
    expect(await alerts('2001:db8:1:2::/64')).toMatchObject([{ type: 'unauthorized_calls', occurrences: 1 }]);
    expect(statements).toHaveLength(1);
    clock.move(1);
    await flood(20);
    expect(await alerts('2001:db8:1:2::/64')).toMatchObject([{ occurrences: 2 }]);
  });
});
