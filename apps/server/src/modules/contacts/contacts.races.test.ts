import { beforeAll, expect, it } from 'vitest';

import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/contacts';
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

it('the total stays exact during 50 concurrent creations and deletions', async () => {
  const { token } = tenant.admin;
  const created = await Promise.all(Array.from({ length: 50 }, () => test.call('POST', path, { token, body: {} })));
  expect(created.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 201));
  const ids = created.map(({ body }) => body.data.id as string);
  // Deletes each contact twice: only one of the two deletions counts.
  const deleted = await Promise.all(
    [...ids.slice(0, 20), ...ids.slice(0, 20)].map((id) => test.call('DELETE', `${path}/${id}`, { token })),
  );
  expect(deleted.filter(({ status }) => status === 200)).toHaveLength(20);
  const list = await test.call('GET', `${path}?limit=10`, { token });
  expect(list.body.pagination).toEqual({ total: 30, limit: 10, offset: 0, hasMore: true });
});
