import type { SampleContext, Successes } from '#test/support/samples';

const feedbacks = '/api/v1/secure/feedbacks';
const resourceType = 'feedback';

/** Successful calls of all recorded operations on feedback. */
export function feedbackSuccesses({ create, made }: SampleContext): Successes {
  const fields = async () => ({ entity_type: 'space', entity_id: await made('spaces'), message: 'canary' });
  return {
    createFeedback: async () => ({ method: 'POST', url: feedbacks, status: 201, body: await fields(), resourceType }),
    updateFeedback: async () => {
      const resourceId = await create(feedbacks, await fields());
      const change = { body: { status: 'resolved' }, fields: ['status'] };
      return { method: 'PATCH', url: `${feedbacks}/${resourceId}`, status: 200, resourceType, resourceId, ...change };
    },
  };
}
