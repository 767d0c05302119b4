import { expect } from 'vitest';

import type { SampleContext, Successes } from '#test/support/samples';

const path = '/api/v1/secure/admin/notifications';
const resourceType = 'notice';

const fields = {
  category: 'canary',
  title: 'canary',
  body: 'canary',
  i18n: { de: { title: 'canary' } },
  data: { canary: 'canary' },
};

/** Successful calls of all recorded notification operations. */
export function noticeSuccesses({ test, tenant }: SampleContext): Successes {
  const body = () => ({ ...fields, audience: { userIds: [tenant.admin.userId] } });
  return {
    createNotice: () => Promise.resolve({ method: 'POST', url: path, status: 202, body: body(), resourceType }),
    cancelNotice: async () => {
      const sent = await test.call('POST', path, { token: tenant.admin.token, body: body() });
      expect(sent.status).toBe(202);
      const resourceId = sent.body.data.id as string;
      return { method: 'POST', url: `${path}/${resourceId}/cancel`, status: 200, resourceType, resourceId };
    },
  };
}
