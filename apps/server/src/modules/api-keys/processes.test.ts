import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { Service } from '#app/service';
import { apiKeys, createKey, patchKey, rotateKey, statusOfKey, toIssuedKey } from '#modules/api-keys/testing/keys';
import { createTenant, type Tenant } from '#test/support/factories';
import { startService, testServiceOf, useService, type TestService, patientTiming } from '#test/support/harness';

const test = useService();
let second: Service;
let there: TestService;
let tenant: Tenant;

beforeAll(async () => {
  second = await startService({ connection: test.connection, databaseTiming: patientTiming });
  there = testServiceOf(second, test.connection);
  tenant = await createTenant(test);
});
afterAll(() => second.close());

const waiting = { timeout: 30_000, interval: 5 };

/** A key that both processes have cached. */
async function createKnownKey() {
  const key = await createKey(test, tenant.admin);
  for (const process of [test, there]) expect(await statusOfKey(process, key.fullKey)).toBe(200);
  return key;
}

/** The answer changes well before the cache entry expires after a minute. */
function expectStatusThere(fullKey: string, status: number): Promise<void> {
  return vi.waitFor(async () => expect(await statusOfKey(there, fullKey)).toBe(status), waiting);
}

describe('changes of one process apply in the other', () => {
  it.each<[string, object, number]>([
    ['switched off', { enabled: false }, 401],
    ['expired', { expires_at: '2001-01-01T00:00:00Z' }, 401],
    ['without its flag', { permissions: { spaces: null } }, 403],
    ['held to another address', { ip_whitelist: ['192.0.2.7'] }, 403],
    ['held to a device', { device_fingerprint: 'reader 7' }, 403],
  ])('%s', async (_what, change, status) => {
    const { id, fullKey } = await createKnownKey();
    expect((await patchKey(test, tenant, id, change)).status).toBe(200);
    await expectStatusThere(fullKey, status);
  });

  it('deleted', async () => {
    const { id, fullKey } = await createKnownKey();
    await test.call('DELETE', `${apiKeys}/${id}`, { token: tenant.admin.token });
    await expectStatusThere(fullKey, 401);
  });

  it('rotated, and the previous secret revoked', async () => {
    const first = await createKnownKey();
    const next = toIssuedKey(await rotateKey(test, tenant, first.id, 3600));
    expect(await statusOfKey(there, next.fullKey)).toBe(200);
    expect(await statusOfKey(there, first.fullKey)).toBe(200);
    await test.call('DELETE', `${apiKeys}/${first.id}/previous-secret`, { token: tenant.admin.token });
    await expectStatusThere(first.fullKey, 401);
    await rotateKey(test, tenant, first.id);
    await expectStatusThere(next.fullKey, 401);
  });

  it('rotated in both concurrently: one secret is valid in both', async () => {
    const { id } = await createKnownKey();
    const url = `${apiKeys}/${id}/rotate`;
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          (at % 2 === 0 ? test : there).call('POST', url, { token: tenant.admin.token }),
        ),
      );
      const { body } = await test.call('GET', `${apiKeys}/${id}`, { token: tenant.admin.token });
      const keys = answers.map((answer) => toIssuedKey(answer).fullKey);
      const valid = keys.filter((fullKey) => fullKey.slice(-4) === body.data.key_preview.slice(-4));
      expect(valid).toHaveLength(1);
      for (const process of [test, there]) {
        const statuses = await Promise.all(keys.map((fullKey) => statusOfKey(process, fullKey)));
        expect(statuses.filter((status) => status === 200)).toHaveLength(1);
        expect(statuses[keys.indexOf(valid[0]!)]).toBe(200);
      }
    }
  });
});
