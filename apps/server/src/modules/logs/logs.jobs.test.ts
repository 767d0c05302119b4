import { beforeAll, describe, expect, it } from 'vitest';

import { keepLogs } from '#modules/logs/logs.jobs';
import { withClient } from '#test/support/database';
import { logInSystemAdmin } from '#test/support/factories';
import { useService } from '#test/support/harness';
import { plantLogLines } from '#test/support/log-lines';

const test = useService({ ownDatabase: true });
const day = 24 * 60 * 60_000;
let token: string;

beforeAll(async () => {
  ({ token } = await logInSystemAdmin(test));
});

const partitions = () =>
  withClient(test.connection, async (client) => {
    const text = `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'application_logs'::regclass`;
    return (await client.query<{ name: string }>(text)).rows.map(({ name }) => name).toSorted();
  });
const nameOf = (at: number) => `application_logs_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '_')}`;
const { signal } = new AbortController();
const keepAt = (at: number) =>
  keepLogs({ ...test.service.services, now: () => new Date(at) }, { connection: test.connection, signal });
/** Noon of today, far from midnight and from the hour of the cleanup. */
const noon = () => Math.floor(Date.now() / day) * day + day / 2;

describe('keepLogs', () => {
  it('creates partitions for today and the next three days at the start', async () => {
    const ahead = [0, 1, 2, 3].map((days) => nameOf(noon() + days * day));
    expect(await partitions()).toEqual([...ahead, 'application_logs_default']);
  });

  it('drops only whole days that are older than the retention', async () => {
    const today = noon();
    await keepAt(today + 29 * day);
    expect(await partitions()).toContain(nameOf(today));
    await keepAt(today + 31 * day);
    const left = await partitions();
    expect(left).not.toContain(nameOf(today));
    expect(left).toEqual(expect.arrayContaining([nameOf(today + day), nameOf(today + 31 * day)]));
  });

  it('drops nothing while the cleanup is disabled, and respects the configured days', async () => {
    const patch = (cleanup: object) => test.call('PATCH', '/api/v1/system/logs/config', { token, body: { cleanup } });
    const today = noon() + 3 * day;
    await patch({ enabled: false });
    await keepAt(today + 200 * day);
    expect(await partitions()).toContain(nameOf(today));
    await patch({ enabled: true, retentionDays: 90 });
    await keepAt(today + 90 * day);
    expect(await partitions()).toContain(nameOf(today));
    await keepAt(today + 92 * day);
    expect(await partitions()).not.toContain(nameOf(today));
  });

  it('lines of days without a partition are kept, and purged when they are old', async () => {
    const insert = (at: Date) => plantLogLines(test.connection, [{ at, service: 'x', message: 'stray' }]);
    const count = () =>
      withClient(
        test.connection,
        async (client) => (await client.query(`select from application_logs_default where service = 'x'`)).rowCount,
      );
    await insert(new Date('2020-01-01T00:00:00Z'));
    expect(await count()).toBe(1);
    await keepAt(noon());
    expect(await count()).toBe(0);
  });
});
