import { beforeAll, describe, expect, it } from 'vitest';

import { keepCalls } from '#modules/integrations/integrations.jobs';
import { addCall, path } from '#modules/integrations/testing/traffic';
import { withClient } from '#test/support/database';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });
const day = 24 * 60 * 60_000;
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const { signal } = new AbortController();
const keepAt = (at: number) =>
  keepCalls({ services: { ...test.service.services, now: () => new Date(at) }, connection: test.connection, signal });
const partitionsOf = (table: string) =>
  withClient(test.connection, async (client) => {
    const text = 'select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass';
    return (await client.query<{ name: string }>(text, [table])).rows.map(({ name }) => name).toSorted();
  });
const nameOf = (at: number) => `provider_calls_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '_')}`;
/** Noon of today, far from midnight. */
const noon = () => Math.floor(Date.now() / day) * day + day / 2;
const countIn = (partition: string) =>
  withClient(test.connection, async (client) => (await client.query(`select from ${partition}`)).rowCount);

describe('keepCalls', () => {
  it('creates partitions for today and the next three days, and calls are stored there', async () => {
    const ahead = [0, 1, 2, 3].map((days) => nameOf(noon() + days * day));
    expect(await partitionsOf('provider_calls')).toEqual([...ahead, 'provider_calls_default']);
    await addCall(test, tenant.tenantId, { called_at: new Date(noon()).toISOString() });
    expect(await countIn(nameOf(noon()))).toBe(1);
    expect(await countIn('provider_calls_default')).toBe(0);
  });

  it('keeps 30 whole days and does not touch the log', async () => {
    const today = noon();
    const log = await partitionsOf('application_logs');
    await keepAt(today + 30 * day);
    expect(await partitionsOf('provider_calls')).toContain(nameOf(today));
    await keepAt(today + 31 * day);
    const left = await partitionsOf('provider_calls');
    expect(left).not.toContain(nameOf(today));
    expect(left).toEqual(expect.arrayContaining([nameOf(today + day), nameOf(today + 34 * day)]));
    expect(await partitionsOf('application_logs')).toEqual(log);
  });

  it('keeps calls of days without a partition and deletes them after 30 days', async () => {
    const id = await addCall(test, tenant.tenantId, { called_at: new Date(noon() - 29 * day).toISOString() });
    await addCall(test, tenant.tenantId, { called_at: '2020-01-01T00:00:00Z' });
    expect(await countIn('provider_calls_default')).toBe(2);
    await keepAt(noon());
    expect(await countIn('provider_calls_default')).toBe(1);
    const { body } = await test.call('GET', `${path}/logs`, { token: tenant.admin.token });
    expect(body.data).toMatchObject([{ id }]);
  });
});
