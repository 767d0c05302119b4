import { afterAll, beforeAll, expect, it } from 'vitest';

import type { Service } from '#app/service';
import { findOrCreatePushKeys } from '#modules/notifications/push/push-keys';
import { withClient } from '#test/support/database';
import { startService, useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });
let other: Service;

beforeAll(async () => {
  other = await startService({ connection: test.connection });
});
afterAll(() => other.close());

const stored = () =>
  withClient(test.connection, async (client) => (await client.query('select * from push_keys')).rows as object[]);

it('all processes share one pair, created once under concurrency', async () => {
  expect(await stored()).toEqual([]);
  const processes = [test.service.services, other.services];
  const found = await Promise.all(Array.from({ length: 50 }, (_, at) => findOrCreatePushKeys(processes[at % 2]!)));
  const [{ publicKey, privateKey }] = found as [(typeof found)[0]];
  expect(found).toEqual(found.map(() => ({ publicKey, privateKey })));
  expect(await stored()).toEqual([expect.objectContaining({ name: 'vapid', public_key: publicKey })]);
  expect(JSON.stringify(await stored())).not.toContain(privateKey);
  expect([publicKey, privateKey].map((key) => Buffer.from(key, 'base64url').length)).toEqual([65, 32]);
});

it('stays the same after that', async () => {
  const [{ publicKey }, again] = [
    await findOrCreatePushKeys(other.services),
    await findOrCreatePushKeys(test.service.services),
  ];
  expect(again.publicKey).toBe(publicKey);
  expect(await stored()).toHaveLength(1);
});
