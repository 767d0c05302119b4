import type { SampleContext, Successes } from '#test/support/samples';

const url = '/api/v1/secure/calendar/events';
const resourceType = 'calendar_event';

/** Successful calls of all recorded calendar operations. */
export function calendarSuccesses({ test, tenant }: SampleContext): Successes {
  const newEvent = () => ({
    title: 'canary',
    description: 'canary',
    location: 'canary',
    busy: false,
    local_start: '2026-06-01T09:00',
    local_end: '2026-06-01T10:00',
    timezone: 'Europe/Vienna',
    entities: [{ entity_type: 'user', entity_id: tenant.admin.userId }],
  });
  const create = async (): Promise<string> =>
    (await test.call('POST', url, { token: tenant.admin.token, body: newEvent() })).body.data.id;
  const onNewEvent = async () => {
    const resourceId = await create();
    return { resourceType, resourceId, url: `${url}/${resourceId}` };
  };
  return {
    createEvent: () => {
      const body = newEvent();
      return Promise.resolve({ method: 'POST', url, status: 201, body, resourceType, fields: Object.keys(body) });
    },
    updateEvent: async () => {
      const body = newEvent();
      return { method: 'PATCH', status: 200, body, fields: Object.keys(body), ...(await onNewEvent()) };
    },
    deleteEvent: async () => ({ method: 'DELETE', status: 204, ...(await onNewEvent()) }),
  };
}
