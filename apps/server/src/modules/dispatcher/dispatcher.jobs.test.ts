import { beforeAll, describe, expect, it, vi } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { jobRow, minute, runsOf } from '#core/platform/jobs/testing/jobs';
import { createTenant, logInSystemAdmin } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

let time = Date.parse('2031-03-10T10:00:00Z');
const test = useService({ ownDatabase: true, now: () => new Date(time) });
const base = '/api/v1/system/dispatcher/jobs';
let token: string;

beforeAll(async () => {
  ({ token } = await logInSystemAdmin(test));
});

const list = () => test.call('GET', base, { token });
const runs = (name: string, query = '') => test.call('GET', `${base}/${name}/runs${query}`, { token });
const runNow = (name: string) => test.call('POST', `${base}/${name}/run`, { token });
const patch = (name: string, body: unknown) => test.call('PATCH', `${base}/${name}`, { token, body });
const dispatch = () => test.service.services.dispatcher.dispatch('internal');
const database = () => test.service.services.database;

async function job(name: string) {
  const { body } = await list();
  return body.data.find((one: { name: string }) => one.name === name);
}

const hasEnded = (name: string) =>
  vi.waitFor(async () => expect((await runs(name, '?limit=1')).body.data[0].status).toBe('succeeded'), 30_000);

async function trail(answer: Answer) {
  return database()
    .tenant(systemTenantId)
    .all({
      kind: 'read',
      text: `select action, resource_type, details ->> 'job' as job, details -> 'fields' as fields
             from audit_logs where details ->> 'requestId' = $1`,
      values: [answer.headers['x-request-id']],
      prepare: false,
    });
}

describe('listScheduledJobs', () => {
  it('200: every job of every module, by name', async () => {
    const { status, body } = await list();
    expect(status).toBe(200);
    const names = body.data.map((one: { name: string }) => one.name);
    expect(names).toEqual(test.service.services.dispatcher.jobs.map((one) => one.name).toSorted());
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(['storage-sweep', 'tenant-purge', 'dispatcher-history']));
  });

  it('200: all fields of a job', async () => {
    expect(await job('log-retention')).toEqual({
      name: 'log-retention',
      description: expect.any(String),
      enabled: true,
      schedule: '2-57/5 * * * *',
      timezone: 'UTC',
      catch_up: 'run_once',
      default_schedule: '2-57/5 * * * *',
      timeout_ms: 3_600_000,
      next_slot: '2031-03-10T10:02:00.000Z',
      last_run: null,
      last_error: null,
      consecutive_failures: 0,
    });
  });
});

describe('runScheduledJob', () => {
  it('202: runs the job now, in addition to its schedule, and records it', async () => {
    const answer = await runNow('delivered-mail');
    expect([answer.status, answer.body.data]).toEqual([
      202,
      {
        id: expect.any(String),
        job_name: 'delivered-mail',
        trigger: 'manual',
        slot: null,
        status: 'running',
        attempt: 1,
        started_at: new Date(time).toISOString(),
        completed_at: null,
        duration_ms: null,
        error: null,
        output: null,
      },
    ]);
    await hasEnded('delivered-mail');
    const found = await job('delivered-mail');
    expect(found.last_run).toMatchObject({ id: answer.body.data.id, status: 'succeeded', output: { deleted: 0 } });
    expect(found.next_slot).toBe('2031-03-10T10:13:00.000Z');
    expect(await trail(answer)).toEqual([
      { action: 'scheduled_job.run', resource_type: 'scheduled_job', job: 'delivered-mail', fields: null },
    ]);
  });

  it('409 while the job runs, and nothing is recorded', async () => {
    const name = 'old-security-events';
    await dispatch();
    const lease = new Date(time + minute);
    const running = {
      kind: 'write' as const,
      text: `insert into job_runs (id, job_name, trigger, status, started_at, lease_until) values ($1, $2, 'manual', 'running', $3, $3)`,
      values: [newId(), name, lease],
      prepare: false,
    };
    await database().platform().interactive.all(running);
    const answer = await runNow(name);
    expectError(answer, 409, 'CONFLICT', 'JOB_IS_RUNNING');
    expect(answer.headers['retry-after']).toBe('30');
    expect(await trail(answer)).toEqual([]);
    expect(await runsOf(database(), name)).toHaveLength(1);
  });

  it('404 for an unknown job, 400 for an invalid name', async () => {
    expectError(await runNow('nothing'), 404, 'NOT_FOUND');
    expectError(await runNow('No%20Name'), 400, 'VALIDATION_ERROR');
  });
});

describe('listScheduledJobRuns', () => {
  it('200: newest first, in pages, with one status', async () => {
    const name = 'ended-address-rules';
    for (let count = 0; count < 3; count++) {
      time += minute;
      await runNow(name);
      await hasEnded(name);
    }
    const all = (await runs(name)).body;
    expect(all.pagination).toEqual({ total: 3, limit: 50, offset: 0, hasMore: false });
    const times = all.data.map((run: { started_at: string }) => run.started_at);
    expect(times).toEqual(times.toSorted().toReversed());
    const second = (await runs(name, '?limit=1&offset=1')).body;
    expect(second.data).toEqual([all.data[1]]);
    expect(second.pagination).toEqual({ total: 3, limit: 1, offset: 1, hasMore: true });
    expect((await runs(name, '?status=failed')).body.data).toEqual([]);
    expect((await runs(name, '?status=succeeded')).body.data).toHaveLength(3);
  });

  it('404 for an unknown job, 400 for an invalid query', async () => {
    expectError(await runs('nothing'), 404, 'NOT_FOUND');
    for (const query of ['?limit=0', '?status=none', '?offset=-1'])
      expectError(await runs('storage-sweep', query), 400, 'VALIDATION_ERROR');
  });
});

describe('updateScheduledJob', () => {
  const name = 'storage-reconcile';

  it('200: schedule, time zone and catch-up policy; null restores the default', async () => {
    const changes = { schedule: '30 2 * * *', timezone: 'Europe/Berlin', catch_up: 'skip' };
    const answer = await patch(name, changes);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({ ...changes, next_slot: '2031-03-11T01:30:00.000Z' });
    expect(await job(name)).toEqual(answer.body.data);
    expect(await trail(answer)).toEqual([
      { action: 'scheduled_job.updated', resource_type: 'scheduled_job', job: name, fields: Object.keys(changes) },
    ]);
    const back = await patch(name, { schedule: null, timezone: null, catch_up: null });
    expect(back.body.data).toMatchObject({ schedule: '29 * * * *', timezone: 'UTC', catch_up: 'run_once' });
  });

  it('200: a new schedule does not catch up earlier slots', async () => {
    await dispatch();
    await patch(name, { schedule: '* * * * *', catch_up: 'all' });
    const before = (await runsOf(database(), name)).length;
    await dispatch();
    expect(await runsOf(database(), name)).toHaveLength(before);
    time += minute;
    await dispatch();
    expect(await runsOf(database(), name)).toHaveLength(before + 1);
    await patch(name, { schedule: null, catch_up: null });
  });

  it('200: a disabled job has no next slot, and catches up nothing after it is enabled', async () => {
    expect((await patch('storage-sweep', { enabled: false })).body.data).toMatchObject({
      enabled: false,
      next_slot: null,
    });
    const before = (await runsOf(database(), 'storage-sweep')).length;
    time += 10 * minute;
    await dispatch();
    expect(await runsOf(database(), 'storage-sweep')).toHaveLength(before);
    await patch('storage-sweep', { enabled: true });
    expect((await jobRow(database(), 'storage-sweep')).handled_until).toBe(new Date(time).toISOString());
    await dispatch();
    expect(await runsOf(database(), 'storage-sweep')).toHaveLength(before);
  });

  it.each(['61 * * * *', '* * * * * *', 'every minute', '0 0 30 2 *', '2026-01-01'])(
    '400: the schedule %j cannot be kept',
    async (schedule) => {
      const answer = await patch(name, { schedule });
      expectError(answer, 400, 'VALIDATION_ERROR', 'SCHEDULE_INVALID');
      expect(answer.body.details.problem).toEqual(expect.any(String));
      expect((await jobRow(database(), name)).schedule).toBeNull();
      expect(await trail(answer)).toEqual([]);
    },
  );

  it.each([
    {},
    { schedule: '' },
    { schedule: 5 },
    { timezone: 'Mars/Olympus' },
    { catch_up: 'never' },
    { enabled: null },
    { name: 'other' },
  ])('400: %j', async (body) => {
    expectError(await patch(name, body), 400, 'VALIDATION_ERROR');
  });

  it('404 for an unknown job', async () => {
    expectError(await patch('nothing', { enabled: false }), 404, 'NOT_FOUND');
  });
});

it('401 without credentials, 403 for callers other than system administrators', async () => {
  const tenant = await createTenant(test);
  const calls = (given: string | undefined) => [
    test.call('GET', base, { token: given }),
    test.call('GET', `${base}/storage-sweep/runs`, { token: given }),
    test.call('POST', `${base}/storage-sweep/run`, { token: given }),
    test.call('PATCH', `${base}/storage-sweep`, { token: given, body: { enabled: false } }),
  ];
  for (const answer of await Promise.all(calls(undefined))) expectError(answer, 401, 'AUTHENTICATION_ERROR');
  for (const answer of await Promise.all(calls(tenant.admin.token))) expectError(answer, 403, 'AUTHORIZATION_ERROR');
});
