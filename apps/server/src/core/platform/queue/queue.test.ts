import { describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createQueue, type Queue } from '#core/platform/queue/queue';
import type { Attempt, BoundWork } from '#core/platform/queue/terms';
import { queueOf, workOf } from '#core/platform/queue/testing/queues';
import { createDatabase, listTables, withClient } from '#test/support/database';
import { useService } from '#test/support/harness';
import { useOpened } from '#test/support/opened';

const test = useService();
const { open } = useOpened();

/** One process with the given work, closed behind the test. */
function processWith(...work: BoundWork[]): Queue {
  const queue = queueOf({ connection: test.connection, log: test.service.services.log }, work);
  open.push(() => queue.close());
  return queue;
}

function gate() {
  let openIt = () => {};
  const opened = new Promise<void>((resolve) => (openIt = resolve));
  return { opened, open: openIt };
}

type Stored = { state: string; retry_count: number; data: unknown; output: unknown };
const stored = (name: string): Promise<Stored[]> =>
  withClient(test.connection, async (client) => {
    const text = 'select state, retry_count, data, output from queue.job where name = $1 order by created_on, id';
    return (await client.query<Stored>(text, [name])).rows;
  });
const statesOf = async (name: string) => (await stored(name)).map(({ state }) => state);
const until = (condition: () => unknown) => vi.waitFor(condition, { timeout: 30_000, interval: 50 });
const untilStates = (name: string, states: string[]) => until(async () => expect(await statesOf(name)).toEqual(states));

describe('send', () => {
  it('has work done once, by one of the processes that serve', async () => {
    const run = vi.fn<BoundWork['run']>(() => Promise.resolve());
    const work = workOf({ run });
    const [sender, ...workers] = [processWith(work), processWith(work), processWith(work)];
    expect(await sender.send(work.name, { id: 1 })).toBe(true);
    expect(run).not.toHaveBeenCalled();
    workers.forEach((queue) => queue.start());
    await untilStates(work.name, ['completed']);
    expect(run.mock.calls.map(([{ data, attempt }]) => [data, attempt])).toEqual([[{ id: 1 }, 1]]);
  });

  it('is heard of without looking', async () => {
    const ran = gate();
    const work = workOf({ run: () => Promise.resolve(ran.open()) });
    const { connection } = test;
    const before = await countListeners();
    const started = createQueue({ connection, log: test.service.services.log, work: [work], pollMs: 600_000 });
    open.push(() => started.close());
    started.start();
    await until(async () => expect(await countListeners()).toBeGreaterThan(before));
    await processWith(work).send(work.name, {});
    await ran.opened;
  });

  it('has one of the same key wait at a time, and another while that one is being done', async () => {
    const [begun, go] = [gate(), gate()];
    const work = workOf({ run: () => (begun.open(), go.opened) });
    const queue = processWith(work);
    const sent = await Promise.all(Array.from({ length: 50 }, () => queue.send(work.name, {}, { key: 'k' })));
    expect(sent.filter(Boolean)).toHaveLength(1);
    expect(await queue.send(work.name, {}, { key: 'other' })).toBe(true);
    queue.start();
    await begun.opened;
    await untilStates(work.name, ['active', 'active']);
    const again = await Promise.all(Array.from({ length: 50 }, () => queue.send(work.name, {}, { key: 'k' })));
    expect(again.filter(Boolean)).toHaveLength(1);
    go.open();
    await untilStates(work.name, ['completed', 'completed', 'completed']);
  });

  it('waits for its start time, and runs tasks with a higher priority first', async () => {
    const order: unknown[] = [];
    const work = workOf({ concurrency: 1, run: ({ data }) => Promise.resolve(order.push(data)) });
    const queue = processWith(work);
    await queue.sendMany(work.name, [
      { data: { at: 'never' }, startAfter: new Date(Date.now() + 3_600_000) },
      { data: { at: 'second' } },
      { data: { at: 'first' }, priority: 5 },
    ]);
    queue.start();
    await until(async () =>
      expect((await statesOf(work.name)).toSorted()).toEqual(['completed', 'completed', 'created']),
    );
    expect(order).toEqual([{ at: 'first' }, { at: 'second' }]);
  });

  it('takes many with a statement for each thousand', async () => {
    const work = workOf();
    const queue = processWith(work);
    const pieces = Array.from({ length: 2500 }, (_, at) => ({ data: { at }, key: `k${at % 2400}` }));
    expect(await queue.sendMany(work.name, pieces)).toBe(2400);
    expect(await stored(work.name)).toHaveLength(2400);
  });

  it('knows no work that is not declared', async () => {
    await expect(processWith(workOf()).send('never-declared', {})).rejects.toThrow('does not exist');
  });
});

describe('work that fails', () => {
  it('is retried up to its number of attempts, and then kept as a dead letter', async () => {
    const attempts: number[] = [];
    const work = workOf({
      run: ({ attempt }) => Promise.reject(new Error(`no luck with ${attempts.push(attempt)}`)),
    });
    const queue = processWith(work);
    queue.start();
    const id = newId();
    await queue.send(work.name, { id });
    await untilStates(work.name, ['failed']);
    expect(attempts).toEqual([1, 2, 3]);
    expect(await stored(work.name)).toMatchObject([
      { retry_count: 2, output: { name: 'Error', message: 'no luck with 3' } },
    ]);
    const letters = (await stored('dead-letters')).filter(({ data }) => (data as { id?: string }).id === id);
    expect(letters).toMatchObject([{ state: 'created' }]);
    const lines = test.logLines.filter((line) => line.includes(work.name));
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      'task failed; it will be retried',
      'task failed; it will be retried',
      'task failed for the last time; it is kept as a dead letter',
    ]);
  });

  it('pauses before the next attempt, each time longer', async () => {
    const work = workOf({
      backoff: { firstSeconds: 60, maxSeconds: 600 },
      run: () => Promise.reject(new Error('no luck')),
    });
    const queue = processWith(work);
    queue.start();
    await queue.send(work.name, {});
    await untilStates(work.name, ['retry']);
    const pauses: number[] = [await pauseOf(work.name)];
    await skipPause(work.name);
    await until(async () => expect(await stored(work.name)).toMatchObject([{ state: 'retry', retry_count: 1 }]));
    pauses.push(await pauseOf(work.name));
    // From the begin of the attempt on, which takes what a busy machine takes.
    expect(pauses[0]).toBeGreaterThanOrEqual(60);
    expect(pauses[0]).toBeLessThan(180);
    expect(pauses[1]).toBeGreaterThanOrEqual(120);
    expect(pauses[1]).toBeLessThan(300);
  });

  it('counts as failed when it takes too long, and is told so', async () => {
    const signals: AbortSignal[] = [];
    const work = workOf({
      attempts: 1,
      timeoutMs: 50,
      run: ({ signal }) => (signals.push(signal), new Promise(() => undefined)),
    });
    const queue = processWith(work);
    queue.start();
    await queue.send(work.name, {});
    await untilStates(work.name, ['failed']);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(await stored(work.name)).toMatchObject([{ output: { name: 'TooLong' } }]);
  });
});

describe('a process that stops', () => {
  it('tells what is under way, gives it back and leaves the attempt uncounted', async () => {
    const begun = gate();
    const stopped = vi.fn<(attempt: Attempt<object>) => void>();
    const name = workOf().name;
    const first = processWith(
      workOf({
        name,
        run: async (attempt) => {
          begun.open();
          await new Promise((_, reject) =>
            attempt.signal.addEventListener('abort', () => reject(attempt.signal.reason)),
          );
          stopped(attempt);
        },
      }),
    );
    first.start();
    await first.send(name, { id: 7 });
    await begun.opened;
    await first.stop(60_000);
    expect(await stored(name)).toMatchObject([{ state: 'created', retry_count: 0 }]);
    const run = vi.fn<BoundWork['run']>(() => Promise.resolve());
    const second = processWith(workOf({ name, run }));
    second.start();
    await untilStates(name, ['completed']);
    expect(run.mock.calls.map(([{ data, attempt }]) => [data, attempt])).toEqual([[{ id: 7 }, 1]]);
  });

  it('lets end what can end in time', async () => {
    const [begun, go] = [gate(), gate()];
    const work = workOf({ run: () => (begun.open(), go.opened) });
    const queue = processWith(work);
    queue.start();
    await queue.send(work.name, {});
    await begun.opened;
    const stopped = queue.stop(60_000);
    go.open();
    await stopped;
    expect(await statesOf(work.name)).toEqual(['completed']);
  });

  it('releases a task that ignores its signal, and ignores its later result', async () => {
    const [begun, go] = [gate(), gate()];
    const name = workOf().name;
    const first = processWith(workOf({ name, run: () => (begun.open(), go.opened) }));
    first.start();
    await first.send(name, {});
    await begun.opened;
    await first.stop(10);
    const [taken, end] = [gate(), gate()];
    const second = processWith(workOf({ name, run: () => (taken.open(), end.opened) }));
    second.start();
    await taken.opened;
    go.open();
    await first.close();
    expect(await statesOf(name)).toEqual(['active']);
    end.open();
    await untilStates(name, ['completed']);
  });

  it('releases no task if one with the same key waits already', async () => {
    const [begun, go] = [gate(), gate()];
    const work = workOf({ concurrency: 1, run: () => (begun.open(), go.opened) });
    const queue = processWith(work);
    queue.start();
    await queue.send(work.name, { at: 'first' }, { key: 'k' });
    await begun.opened;
    expect(await queue.send(work.name, { at: 'second' }, { key: 'k' })).toBe(true);
    await queue.stop(0);
    expect(await stored(work.name)).toMatchObject([
      { state: 'completed', data: { at: 'first' } },
      { state: 'created', data: { at: 'second' } },
    ]);
  });
});

describe('a process that was killed', () => {
  it('leaves its tasks to another one after it has missed its heartbeats', async () => {
    const run = vi.fn<BoundWork['run']>(() => Promise.resolve());
    const work = workOf({ run });
    const other = processWith(work);
    await other.send(work.name, { id: 3 });
    await takenByTheDead(work.name);
    other.start();
    await untilStates(work.name, ['completed']);
    expect(run.mock.calls.map(([{ data, attempt }]) => [data, attempt])).toEqual([[{ id: 3 }, 2]]);
  });
});

describe('the schema', () => {
  it('is created once by processes that start at the same time, apart from the tables of the service', async () => {
    const { connection, drop } = await createDatabase();
    open.push(drop);
    const work = workOf();
    const queues = Array.from({ length: 8 }, () => queueOf({ connection, log: test.service.services.log }, [work]));
    queues.forEach((queue) => open.push(() => queue.close()));
    const sent = await Promise.all(queues.map((queue) => queue.send(work.name, {})));
    expect(sent).toEqual(queues.map(() => true));
    expect(await withClient(connection, listTables)).toEqual([]);
  });

  it('may be given to a login that cannot create it', async () => {
    const { connection, drop } = await createDatabase();
    const role = `queue_${newId().replaceAll('-', '_')}`;
    await withClient(connection, async (client) => {
      await client.query(`create role ${role} nologin`);
      await client.query(`create schema queue authorization ${role}`);
    });
    open.push(() => withClient(test.connection, (client) => client.query(`drop role ${role}`)), drop);
    const work = workOf();
    const restricted = { ...connection, options: `-c role=${role}` };
    const queue = queueOf({ connection: restricted, log: test.service.services.log }, [work]);
    open.push(() => queue.close());
    expect(await queue.send(work.name, {})).toBe(true);
  });

  it('applies changed options at the start', async () => {
    const work = workOf();
    await processWith(work).send(work.name, {});
    await processWith({ ...work, attempts: 9 }).send(work.name, {});
    const limit = await withClient(test.connection, (client) =>
      client.query('select retry_limit from queue.queue where name = $1', [work.name]),
    );
    expect(limit.rows).toEqual([{ retry_limit: 8 }]);
  });
});

describe('the gauge', () => {
  it('counts waiting and running tasks', async () => {
    const [begun, go] = [gate(), gate()];
    const work = workOf({ concurrency: 1, run: () => (begun.open(), go.opened) });
    const queue = processWith(work);
    queue.start();
    await queue.sendMany(work.name, [{ data: {} }, { data: {} }, { data: {} }]);
    await begun.opened;
    const [metric] = queue.metrics();
    await until(async () => {
      const samples = (await metric!.read()).filter(({ labels }) => labels?.['work'] === work.name);
      expect(samples.map(({ labels, value }) => [labels?.['state'], value])).toEqual([
        ['waiting', 2],
        ['deferred', 0],
        ['running', 1],
      ]);
    });
    go.open();
  });

  it('says nothing in a process that has nothing to do with the queue', async () => {
    expect(await processWith(workOf()).metrics()[0]!.read()).toEqual([]);
  });
});

const countListeners = () =>
  withClient(test.connection, async (client) => {
    const text = `select from pg_stat_activity where application_name = 'atrium_listen' and datname = current_database()`;
    return (await client.query(text)).rowCount!;
  });

/** What a killed process leaves: a claimed task without heartbeats. */
const takenByTheDead = (name: string) =>
  withClient(test.connection, (client) => {
    const taken = `state = 'active', started_on = now() - interval '20 s', heartbeat_on = now() - interval '16 s'`;
    return client.query(`update queue.job set ${taken} where name = $1`, [name]);
  });

const pauseOf = (name: string) =>
  withClient(test.connection, async (client) => {
    const text =
      'select extract(epoch from start_after - started_on)::float8 as seconds from queue.job where name = $1';
    return (await client.query<{ seconds: number }>(text, [name])).rows[0]!.seconds;
  });

const skipPause = (name: string) =>
  withClient(test.connection, (client) =>
    client.query('update queue.job set start_after = now() where name = $1', [name]),
  );
