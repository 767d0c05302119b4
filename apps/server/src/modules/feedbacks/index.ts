import { defineModule } from '#core/http/route';
import { ResourceNotFound, SpaceNotFound } from '#modules/feedbacks/feedbacks.errors';
import { feedbackRoutes } from '#modules/feedbacks/feedbacks.routes';

/** Feedback of users about spaces and resources, with a processing status. */
export const feedbacksModule = defineModule({
  name: 'feedbacks',
  description: 'Submit and process feedback about spaces and resources',
  constraints: { feedbacks_space: SpaceNotFound, feedbacks_resource: ResourceNotFound },
  routes: feedbackRoutes,
});
