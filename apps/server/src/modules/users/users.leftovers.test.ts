import { expect, it } from 'vitest';

import { mailsTo, post, requestReset } from '#modules/auth/testing/steps';
import { removeLeftovers } from '#modules/users/users.service';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();

it('deletes the records of a disowned user later, and nothing of an existing user', async () => {
  const { tenantId, admin } = await createTenant(test);
  const preferences = [{ category: 'news', channel: 'email', enabled: false }];
  const body = { scope: 'user_override', userId: admin.userId, preferences };
  const path = '/api/v1/secure/admin/notifications/preferences';
  expect((await test.call('PATCH', path, { token: admin.token, body })).status).toBe(200);
  const left = () =>
    test.service.services.database.tenant(tenantId).all({
      kind: 'read',
      text: 'select from notification_preferences where tenant_id = $1 and user_id = $2',
      values: [tenantId, admin.userId],
      prepare: false,
    });
  const leftovers = { tenantId, userId: admin.userId };
  await removeLeftovers(test.service.services, leftovers);
  expect(await left()).toHaveLength(1);
  await requestReset(test, admin.email);
  const [mail] = await mailsTo(test, admin.email);
  const token = /disown-account#token=([\w-]{43})\n/.exec(mail!.text)![1];
  expect((await post(test, 'disown-account', { token })).status).toBe(200);
  await removeLeftovers(test.service.services, leftovers);
  expect(await left()).toEqual([]);
});
