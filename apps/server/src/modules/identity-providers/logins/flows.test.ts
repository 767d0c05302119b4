import { beforeAll, expect, it } from 'vitest';

import { createClock, minute } from '#modules/auth/testing/steps';
import { deleteAbandonedFlows } from '#modules/identity-providers/logins/flows';
import { configure, startUrl } from '#modules/identity-providers/testing/steps';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const clock = createClock();
// The logins of other suites would be too old as well.
const test = useService({ ownDatabase: true, now: clock.now });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
  await configure(test, tenant.admin.token, 'github', { client_id: 'x', client_secret: 'x' });
});

function flows(): Promise<{ payload: string; row: string }[]> {
  const text = 'select payload, f::text as row from provider_flows f order by created_at';
  return test.service.services.database.credential().all({ kind: 'read', text, values: [], prepare: false });
}

async function begin(): Promise<{ state: string }> {
  const { tenantId } = tenant;
  const url = startUrl(test, { provider: 'github', tenantId, state: 'of the application', challenge: 'x'.repeat(43) });
  const answer = await test.call('GET', url.slice(test.service.services.settings.publicUrl.length));
  expect(answer.status).toBe(302);
  return { state: new URL(answer.headers.location!).searchParams.get('state')! };
}

it('a pending login is stored without its secrets, and deleted an hour after its expiry', async () => {
  const { state } = await begin();
  const [flow] = await flows();
  expect(flow!.payload).toMatch(/^v1\./);
  for (const secret of [state, 'of the application', tenant.tenantId]) expect(flow!.row).not.toContain(secret);
  clock.advance(69 * minute);
  await begin();
  await deleteAbandonedFlows(test.service.services, new AbortController().signal);
  expect(await flows()).toHaveLength(2);
  clock.advance(2 * minute);
  await deleteAbandonedFlows(test.service.services, new AbortController().signal);
  expect(await flows()).toHaveLength(1);
});
