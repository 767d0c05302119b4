import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { apiKeys, createKey, listSpacesWith, patchKey, spaces, statusOfKey } from '#modules/api-keys/testing/keys';
import { countStatuses, createClock, day, hour, inParallel } from '#modules/auth/testing/steps';
import { createMember, createTenant, logIn, type Person, type Tenant } from '#test/support/factories';
import { expectError, startService, testServiceOf, useService, type TestService } from '#test/support/harness';

// In the middle of a day, so that a few minutes do not change the day.
const clock = createClock(new Date(`${new Date().toISOString().slice(0, 10)}T12:00:00Z`));
const test = useService({ now: clock.now });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const keyOf = async (id: string, { token }: Person = tenant.admin) =>
  (await test.call('GET', `${apiKeys}/${id}`, { token })).body.data;
const usageOf = (id: string, { token }: Person = tenant.admin) => test.call('GET', `${apiKeys}/${id}/usage`, { token });

/** A second process on the same database, which writes all its counts when it is closed. */
async function withProcess(work: (process: TestService) => Promise<void>): Promise<void> {
  const service = await startService({ connection: test.connection, now: clock.now });
  try {
    await work(testServiceOf(service, test.connection));
  } finally {
    await service.close();
  }
}

/** All concurrently; requests that load shedding refused before authentication are retried once. */
async function useUntilServed(process: TestService, fullKey: string, times: number): Promise<void> {
  const answers = await inParallel(times, () => listSpacesWith(process, fullKey, { ip: '192.0.2.7' }));
  const { 200: served = 0, 503: shed = 0, ...others } = countStatuses(answers);
  expect(others).toEqual({});
  expect(served).toBeGreaterThan(0);
  if (shed > 0) await useUntilServed(process, fullKey, shed);
}

describe('request_count, last_used_at and last_used_ip', () => {
  it('are exact after the process has ended, after 500 concurrent requests', async () => {
    const { id, fullKey } = await createKey(test, tenant.admin);
    const before = clock.now().toISOString();
    await withProcess((process) => useUntilServed(process, fullKey, 500));
    const key = await keyOf(id);
    expect(key).toMatchObject({ request_count: 500, last_used_ip: '192.0.2.7' });
    expect(key.last_used_at >= before && key.last_used_at <= clock.now().toISOString()).toBe(true);
  });

  it('are summed over processes', async () => {
    const { id, fullKey } = await createKey(test, tenant.admin);
    await withProcess((one) =>
      withProcess(async (other) => {
        await Promise.all([useUntilServed(one, fullKey, 100), useUntilServed(other, fullKey, 100)]);
        await Promise.all([one, other].map((process) => process.service.services.usage.close()));
        expect((await keyOf(id)).request_count).toBe(200);
      }),
    );
  });

  it('count requests without permission, but not requests that the restrictions of the key refuse', async () => {
    const { id, fullKey } = await createKey(test, tenant.admin);
    await withProcess(async (process) => {
      expect(await statusOfKey(process, fullKey)).toBe(200);
      const forbidden = await process.call('POST', spaces, { headers: { 'x-api-key': fullKey }, body: { name: 'x' } });
      expect(forbidden.status).toBe(403);
      await patchKey(process, tenant, id, { ip_whitelist: ['127.0.0.1'] });
      expect(await statusOfKey(process, fullKey, { ip: '192.0.2.7' })).toBe(403);
      await patchKey(process, tenant, id, { enabled: false });
      expect(await statusOfKey(process, fullKey)).toBe(401);
    });
    expect(await keyOf(id)).toMatchObject({ request_count: 2, last_used_ip: '127.0.0.1' });
    expect((await usageOf(id)).body.data).toMatchObject({ total_requests: 2, errors_24h: 1 });
  });

  it('are in the list, and remain when the key is updated or rotated', async () => {
    const own = await createTenant(test);
    const { id, fullKey } = await createKey(test, own.admin);
    await withProcess(async (process) => void (await statusOfKey(process, fullKey)));
    const { token } = own.admin;
    const listed = await test.call('GET', apiKeys, { token });
    const changed = await patchKey(test, own, id, { name: 'x' });
    const rotated = await test.call('POST', `${apiKeys}/${id}/rotate`, { token });
    for (const data of [listed.body.data[0], changed.body.data, rotated.body.data])
      expect(data).toMatchObject({ id, request_count: 1, last_used_ip: '127.0.0.1' });
  });
});

describe('getApiKeyUsage', () => {
  it('200: without requests', async () => {
    const { id } = await createKey(test, tenant.admin);
    const { status, body } = await usageOf(id);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: {
        total_requests: 0,
        requests_24h: 0,
        requests_7d: 0,
        requests_30d: 0,
        errors_24h: 0,
        last_used_at: null,
        last_used_ip: null,
        by_endpoint: [],
        by_day: [],
      },
    });
  });

  it('200: by time, operation and day', async () => {
    const own = await createTenant(test);
    const { id, fullKey } = await createKey(test, own.admin);
    const today = clock.now().toISOString().slice(0, 10);
    const use = (times: number) =>
      withProcess(async (process) => void (await inParallel(times, () => listSpacesWith(process, fullKey))));
    await use(5);
    clock.advance(2 * hour);
    await withProcess(async (process) => {
      await process.call('POST', spaces, { headers: { 'x-api-key': fullKey }, body: { name: 'x' } });
    });
    const yesterday = today;
    clock.advance(2 * day);
    await use(3);
    const admin = await logIn(test, own.admin);
    const now = clock.now().toISOString().slice(0, 10);
    expect((await usageOf(id, admin)).body.data).toEqual({
      total_requests: 9,
      requests_24h: 3,
      requests_7d: 9,
      requests_30d: 9,
      errors_24h: 0,
      last_used_at: expect.any(String),
      last_used_ip: '127.0.0.1',
      by_endpoint: [
        { operation: 'listSpaces', requests: 8, errors: 0 },
        { operation: 'createSpace', requests: 1, errors: 1 },
      ],
      by_day: [
        { day: yesterday, requests: 6, errors: 1 },
        { day: now, requests: 3, errors: 0 },
      ],
    });
    clock.advance(30 * day);
    const later = (await usageOf(id, await logIn(test, own.admin))).body.data;
    expect(later).toMatchObject({ total_requests: 9, requests_30d: 0, by_endpoint: [], by_day: [] });
    tenant.admin = await logIn(test, tenant.admin);
  });

  it('403 without the permission, 404 for an unknown key', async () => {
    const { id } = await createKey(test, tenant.admin);
    const manager = await createMember(test, tenant, { permissions: ['api_keys.manage'] });
    const stranger = await createTenant(test);
    expectError(await usageOf(id, manager), 403, 'AUTHORIZATION_ERROR');
    expectError(await usageOf(id, stranger.admin), 404, 'NOT_FOUND');
    expectError(await usageOf(newId()), 404, 'NOT_FOUND');
    expectError(await usageOf('42'), 400, 'VALIDATION_ERROR');
  });
});
