import { expect } from 'vitest';

import type { SampleContext, Success, Successes } from '#test/support/samples';

const admin = '/api/v1/secure/admin/notifications/preferences';
const own = '/api/v1/secure/notifications/preferences';
const resourceType = 'notification_preference';

/** Successful calls of all recorded operations on notification preferences. */
export function preferenceSuccesses({ test, tenant }: SampleContext): Successes {
  const free = { quietHours: { canary: 'canary' }, rules: { canary: 'canary' } };
  const body = { preferences: [{ category: 'news', channel: 'email', enabled: true, ...free }] };
  const updated = (url: string) => (): Promise<Success> =>
    Promise.resolve({ method: 'PATCH', url, body, status: 200, resourceType, resourceId: null });
  const deleted = (url: string) => async (): Promise<Success> => {
    const answer = await test.call('PATCH', own, { token: tenant.admin.token, body });
    expect(answer.status).toBe(200);
    const resourceId = answer.body.data[0].id as string;
    return { method: 'DELETE', url: `${url}/${resourceId}`, status: 204, resourceType, resourceId };
  };
  return {
    updateNotificationPreferences: updated(admin),
    updateOwnNotificationPreferences: updated(own),
    deleteNotificationPreference: deleted(admin),
    deleteOwnNotificationPreference: deleted(own),
  };
}
