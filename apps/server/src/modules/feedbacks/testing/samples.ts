import { feedbackSuccesses } from '#modules/feedbacks/testing/successes';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    createFeedback: ({ spaceId }) => ({ entity_type: 'space', entity_id: spaceId, rating: 4, message: 'Too warm' }),
    updateFeedback: () => ({ status: 'resolved' }),
  },
  ids: {
    'listFeedbacks query.entity_id': 'space',
    'listFeedbacks query.created_by': 'user',
    'createFeedback body.entity_id': 'space',
    'getFeedback params.id': 'feedback',
    'updateFeedback params.id': 'feedback',
  },
  records: async ({ create, ids, secret }) => {
    const feedback = { entity_type: 'space', entity_id: ids.space, message: secret };
    return { feedback: await create('/api/v1/secure/feedbacks', feedback) };
  },
  successes: feedbackSuccesses,
};
