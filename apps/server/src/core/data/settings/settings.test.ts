import { beforeAll, describe, expect, it, vi } from 'vitest';

import { systemTenantId, type Actor, type Person } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { createRuntimeSettings, type Setting } from '#core/data/settings/settings';
import { withClient } from '#test/support/database';
import { logInSystemAdmin } from '#test/support/factories';
import { startService, useService } from '#test/support/harness';

const test = useService();
let actor: Actor<Person>;

type Value = { limit: number; names: string[] };

/** One of its own for each test: the database is shared. */
function aSetting(): Setting<Value> {
  return { name: `test_${newId()}`, complete: (stored) => ({ limit: 10, names: [], ...stored }) };
}

beforeAll(async () => {
  const { token } = await logInSystemAdmin(test);
  const credentials = { authorization: `Bearer ${token}`, apiKey: undefined, tenantId: undefined };
  const request = { id: newId(), ip: '203.0.113.1', userAgent: null, receivedAt: Date.now() };
  const principal = await test.service.authenticate({ ...credentials, deviceFingerprint: undefined }, request);
  actor = { ...(principal as Person), request };
});

const settings = () => test.service.services.runtimeSettings;
const setLimit = (setting: Setting<Value>, limit: number) =>
  settings().change(setting, { action: 'test.changed', actor, apply: (current) => ({ ...current, limit }) });

describe('runtime settings', () => {
  it('have their defaults until a user changes them', async () => {
    const setting = aSetting();
    expect(settings().current(setting)).toEqual({ limit: 10, names: [] });
    expect((await settings().read(setting)).value).toEqual({ limit: 10, names: [] });
    expect((await settings().read(setting)).row.updated_by).toBe(null);
  });

  it('are in force when the change is answered, and recorded by the names of what changed', async () => {
    const setting = aSetting();
    const seen: number[] = [];
    settings().watch(setting, ({ limit }) => seen.push(limit));
    const { value, row } = await setLimit(setting, 20);
    expect(value).toEqual({ limit: 20, names: [] });
    expect(row).toMatchObject({ updated_by: actor.userId });
    expect(settings().current(setting)).toEqual(value);
    expect(await settings().read(setting)).toEqual({ value, row });
    expect(seen).toEqual([10, 20]);
    const trail = await withClient(test.connection, async (client) => {
      const text = 'select tenant_id, action, user_id, details from audit_logs where resource_type = $1';
      return (await client.query<Record<string, any>>(text, [setting.name])).rows;
    });
    expect(trail).toMatchObject([
      { tenant_id: systemTenantId, action: 'test.changed', user_id: actor.userId, details: { fields: ['limit'] } },
    ]);
  });

  it('stay as they are when the change is refused', async () => {
    const setting = aSetting();
    await setLimit(setting, 20);
    const refuse = () => {
      throw new Error('refused');
    };
    const change = settings().change(setting, { action: 'test.changed', actor, apply: refuse });
    await expect(change).rejects.toThrow('refused');
    expect((await settings().read(setting)).value.limit).toBe(20);
  });

  it('lose none of fifty changes at once', async () => {
    const setting = aSetting();
    const names = Array.from({ length: 50 }, (_, at) => `name ${at}`);
    const add = (name: string) =>
      settings().change(setting, {
        action: 'test.changed',
        actor,
        apply: (current) => ({ ...current, names: [...current.names, name] }),
      });
    await Promise.all(names.map(add));
    expect(settings().current(setting).names.toSorted()).toEqual(names.toSorted());
  });

  it('reach another process, the last of many as the last', async () => {
    const setting = aSetting();
    const other = await startService({ connection: test.connection });
    try {
      const heard: number[] = [];
      other.services.runtimeSettings.watch(setting, ({ limit }) => heard.push(limit));
      for (let limit = 1; limit <= 20; limit++) await setLimit(setting, limit);
      await vi.waitFor(() => expect(heard.at(-1)).toBe(20), { timeout: 30_000 });
    } finally {
      await other.close();
    }
  });

  it('are known to a process that starts later', async () => {
    const setting = aSetting();
    await setLimit(setting, 30);
    const later = await startService({ connection: test.connection });
    try {
      await vi.waitFor(() => expect(later.services.runtimeSettings.current(setting).limit).toBe(30), 30_000);
    } finally {
      await later.close();
    }
  });
});

it('are read again until that succeeds', async () => {
  const { log } = test.service.services;
  const setting = aSetting();
  await setLimit(setting, 40);
  let failures = 2;
  const real = test.service.services.database;
  const all = (query: Parameters<ReturnType<typeof real.platform>['all']>[0]) => {
    failures -= 1;
    return failures >= 0 ? Promise.reject(new Error('away')) : real.platform().all(query);
  };
  const database = { ...real, platform: () => ({ all }) } as unknown as typeof real;
  const mine = createRuntimeSettings({ database, log, now: () => new Date(), retryMs: 1 });
  await mine.reload();
  await vi.waitFor(() => expect(mine.current(setting).limit).toBe(40), { timeout: 30_000 });
  mine.close();
});
