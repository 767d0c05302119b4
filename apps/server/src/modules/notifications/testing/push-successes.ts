import { expect } from 'vitest';

import { newBrowser } from '#modules/notifications/push/testing/browser';
import type { SampleContext, Successes } from '#test/support/samples';

const url = '/api/v1/secure/notifications/push/subscriptions';
const resourceType = 'push_subscription';

/** Successful calls of all recorded operations on push subscriptions. */
export function pushSuccesses({ test, tenant }: SampleContext): Successes {
  const body = () => {
    const { endpoint, ...rest } = newBrowser().subscription;
    return { ...rest, endpoint: `${endpoint}canary` };
  };
  return {
    subscribePush: () => Promise.resolve({ method: 'POST', url, status: 201, body: body(), resourceType }),
    unsubscribePush: async () => {
      const added = await test.call('POST', url, { token: tenant.admin.token, body: body() });
      expect(added.status).toBe(201);
      const resourceId = added.body.data.id as string;
      return { method: 'DELETE', url: `${url}/${resourceId}`, status: 204, resourceType, resourceId };
    },
  };
}
