import { expect, it, vi } from 'vitest';

import { queueOf, workOf } from '#core/platform/queue/testing/queues';
import { createDatabase, withClient } from '#test/support/database';
import { useService } from '#test/support/harness';
import { useOpened } from '#test/support/opened';

const test = useService();
const { open } = useOpened();

/** Refuses new connections to the database and ends existing ones; or allows them again. */
const allow = (database: string, allowed: boolean) =>
  withClient(test.connection, async (client) => {
    await client.query(`alter database ${database} allow_connections ${allowed}`);
    if (allowed) return;
    await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database]);
  });

it('work under way outlives the loss of the database, which is told of once', async () => {
  const { connection, drop } = await createDatabase();
  open.push(drop);
  let openIt = () => {};
  const opened = new Promise<void>((resolve) => (openIt = resolve));
  const begun = vi.fn<() => void>();
  const work = workOf({ run: () => (begun(), opened) });
  const queue = queueOf({ connection, log: test.service.services.log }, [work]);
  open.push(() => queue.close());
  queue.start();
  await queue.send(work.name, {});
  await vi.waitFor(() => expect(begun).toHaveBeenCalledTimes(1), 30_000);

  await allow(connection.database!, false);
  const lines = () => test.logLines.filter((line) => line.includes('the queue can')).map((line) => JSON.parse(line));
  await vi.waitFor(() => expect(lines()).toMatchObject([{ level: 'warn' }]), 30_000);
  await expect(queue.send(work.name, {})).rejects.toThrow(/connection|EPIPE/);
  openIt();
  await allow(connection.database!, true);

  const states = () =>
    withClient(connection, async (client) => {
      const text = 'select state, retry_count from queue.job where name = $1';
      return (await client.query(text, [work.name])).rows;
    });
  await vi.waitFor(async () => expect(await states()).toEqual([{ state: 'completed', retry_count: 0 }]), 30_000);
  await queue.send(work.name, {});
  await vi.waitFor(() => expect(begun).toHaveBeenCalledTimes(2), 30_000);
  await vi.waitFor(() => expect(lines()).toMatchObject([{ level: 'warn' }, { level: 'info' }]), 30_000);
});
