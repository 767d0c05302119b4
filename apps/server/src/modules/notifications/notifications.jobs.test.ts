import { expect, it } from 'vitest';

import type { Services } from '#core/platform/services';
import { stepsOf } from '#modules/notifications/notices/testing/steps';
import { forgetNotifications } from '#modules/notifications/notifications.jobs';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();

/** Two notices to all users, the first of them 91 days old. */
async function begin() {
  const tenant = await createTenant(test);
  const { send, tell, ask, list } = stepsOf(test, tenant);
  const [old, recent] = [await send(), await send()];
  await tell();
  await ask(`update notices set completed_at = now() - interval '91 days' where tenant_id = $1 and id = $2`, [
    old['id'],
  ]);
  const left = async () => (await list()).body.data.map(({ id }: { id: string }) => id);
  return { ...tenant, ask, left, old: old['id'], recent: recent['id'] };
}

const forget = (services: Services = test.service.services) =>
  forgetNotifications.run({ services, connection: test.connection, signal: new AbortController().signal });

it('deletes notices of 90 days ago with all their rows', async () => {
  const { recent, left, ask } = await begin();
  await forget();
  expect(await left()).toEqual([recent]);
  const [counts] = await ask(
    `select (select count(*)::int from notifications where tenant_id = $1) as notifications,
       (select count(*)::int from notification_deliveries where tenant_id = $1) as deliveries`,
  );
  expect(counts).toEqual({ notifications: 1, deliveries: 3 });
});

it('a failure of one tenant does not stop the purge of others, and the job reports it', async () => {
  const [broken, fine] = [await begin(), await begin()];
  const { services } = test.service;
  const { database } = services;
  const tenant: typeof database.tenant = (tenantId) => {
    if (tenantId === broken.tenantId) throw new Error('out of luck');
    return database.tenant(tenantId);
  };
  await expect(forget({ ...services, database: { ...database, tenant } })).rejects.toThrow('out of luck');
  expect(await fine.left()).toEqual([fine.recent]);
  expect(await broken.left()).toEqual([broken.recent, broken.old]);
});
