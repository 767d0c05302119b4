import type { Job } from '#core/platform/jobs/job';
import { deleteAbandonedFlows } from '#modules/identity-providers/logins/flows';

export const abandonedFlows: Job = {
  name: 'abandoned-sign-in-flows',
  description: 'Deletes provider logins that expired before they were completed.',
  schedule: '17 * * * *',
  catchUp: 'run_once',
  timeoutMs: 5 * 60_000,
  run: ({ services, signal }) => deleteAbandonedFlows(services, signal),
};
