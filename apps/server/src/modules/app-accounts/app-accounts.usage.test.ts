import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { countStatuses, createClock, day, hour, inParallel, statusOf } from '#modules/auth/testing/steps';
import { createAppAccount, createMember, createTenant, logIn, type Person, type Tenant } from '#test/support/factories';
import { expectError, startService, testServiceOf, useService, type TestService } from '#test/support/harness';

// In the middle of a day, so that a few minutes do not change the day.
const clock = createClock(new Date(`${new Date().toISOString().slice(0, 10)}T12:00:00Z`));
const test = useService({ now: clock.now });
const path = '/api/v1/secure/app-accounts';
const spaces = '/api/v1/secure/spaces';
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const usageOf = (id: string, { token }: Person) => test.call('GET', `${path}/${id}/usage-stats`, { token });

/** A second process on the same database, which writes all its counts when it is closed. */
async function withProcess(work: (process: TestService) => Promise<void>): Promise<void> {
  const service = await startService({ now: clock.now });
  try {
    await work(testServiceOf(service, test.connection));
  } finally {
    await service.close();
  }
}

const nothing = {
  total_requests: 0,
  requests_24h: 0,
  requests_7d: 0,
  requests_30d: 0,
  errors_24h: 0,
  last_used_at: null,
  last_used_ip: null,
  by_endpoint: [],
  by_day: [],
};

describe('getAppAccountUsage', () => {
  it('200: without requests; a login does not count as use', async () => {
    const account = await createAppAccount(test, tenant);
    await withProcess(async (process) => void (await logIn(process, account)));
    const answer = await usageOf(account.id, tenant.admin);
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: { data: nothing } });
  });

  it('200: by time, operation and day; the account shows its latest use', async () => {
    const account = await createAppAccount(test, tenant, { permissions: { spaces: { read: true } } });
    const use = (count: number) =>
      withProcess(async (process) => {
        const { token } = await logIn(process, account);
        const answers = await inParallel(count, () => process.call('GET', spaces, { token, ip: '192.0.2.7' }));
        expect(countStatuses(answers)).toEqual({ 200: count });
      });
    const yesterday = clock.now().toISOString().slice(0, 10);
    await use(200);
    clock.advance(2 * hour);
    await withProcess(async (process) => {
      const { token } = await logIn(process, account);
      expect((await process.call('POST', spaces, { token, body: { name: 'x' } })).status).toBe(403);
      expect(await statusOf(process, token)).toBe(200);
    });
    clock.advance(2 * day);
    const before = clock.now().toISOString();
    await use(3);
    const today = before.slice(0, 10);
    const admin = await logIn(test, tenant.admin);
    const { data } = (await usageOf(account.id, admin)).body;
    expect(data).toEqual({
      total_requests: 205,
      requests_24h: 3,
      requests_7d: 205,
      requests_30d: 205,
      errors_24h: 0,
      last_used_at: expect.any(String),
      last_used_ip: '192.0.2.7',
      by_endpoint: [
        { operation: 'listSpaces', requests: 203, errors: 0 },
        { operation: 'createSpace', requests: 1, errors: 1 },
        { operation: 'getCurrentUser', requests: 1, errors: 0 },
      ],
      by_day: [
        { day: yesterday, requests: 202, errors: 1 },
        { day: today, requests: 3, errors: 0 },
      ],
    });
    expect(data.last_used_at >= before && data.last_used_at <= clock.now().toISOString()).toBe(true);
    const read = await test.call('GET', `${path}/${account.id}`, { token: admin.token });
    const list = await test.call('GET', path, { token: admin.token });
    const listed = list.body.data.find(({ id }: { id: string }) => id === account.id);
    const changed = await test.call('PATCH', `${path}/${account.id}`, { token: admin.token, body: { name: 'x' } });
    for (const shown of [read.body.data, listed, changed.body.data]) expect(shown.last_used_at).toBe(data.last_used_at);
    clock.advance(31 * day);
    const later = (await usageOf(account.id, await logIn(test, tenant.admin))).body.data;
    const { total_requests, last_used_at, last_used_ip } = data;
    expect(later).toEqual({ ...nothing, total_requests, last_used_at, last_used_ip });
    tenant.admin = await logIn(test, tenant.admin);
  });

  it('200: sums the counts of two processes', async () => {
    const account = await createAppAccount(test, tenant);
    const use = async (process: TestService, count: number) => {
      const { token } = await logIn(process, account);
      await inParallel(count, () => process.call('GET', '/api/v1/auth/me', { token }));
    };
    await withProcess((first) =>
      withProcess(async (second) => void (await Promise.all([use(first, 60), use(second, 40)]))),
    );
    expect((await usageOf(account.id, tenant.admin)).body.data.total_requests).toBe(100);
  });

  it('200: is written soon while the process runs', async () => {
    const account = await createAppAccount(test, tenant);
    const { token } = await logIn(test, account);
    expect(await statusOf(test, token)).toBe(200);
    const total = async () => (await usageOf(account.id, tenant.admin)).body.data.total_requests;
    await expect.poll(total, { interval: 20, timeout: 10_000 }).toBe(1);
  });

  it('403 without the permission, 404 for an unknown account, 400 for an invalid id', async () => {
    const { id } = await createAppAccount(test, tenant);
    const manager = await createMember(test, tenant, { permissions: ['app_accounts.manage'] });
    const reader = await createMember(test, tenant, { permissions: ['app_accounts.read'] });
    const stranger = await createTenant(test);
    expect((await usageOf(id, reader)).status).toBe(200);
    expectError(await usageOf(id, manager), 403, 'AUTHORIZATION_ERROR');
    for (const answer of [await usageOf(id, stranger.admin), await usageOf(newId(), tenant.admin)])
      expectError(answer, 404, 'NOT_FOUND');
    expectError(await usageOf('42', tenant.admin), 400, 'VALIDATION_ERROR');
  });

  it('accepts counts of a deleted account', async () => {
    const account = await createAppAccount(test, tenant);
    await withProcess(async (process) => {
      const { token } = await logIn(process, account);
      expect(await statusOf(process, token)).toBe(200);
      await test.call('DELETE', `${path}/${account.id}`, { token: tenant.admin.token });
    });
    expectError(await usageOf(account.id, tenant.admin), 404, 'NOT_FOUND');
  });
});
