import type { Job } from '#core/platform/jobs/job';
import { purgeTenants } from '#modules/tenants/purge.service';

export const purge: Job = {
  name: 'tenant-purge',
  description: 'Purges deleted tenants after their grace period.',
  schedule: '23 * * * *',
  catchUp: 'run_once',
  timeoutMs: 30 * 60_000,
  run: ({ services, signal }) => purgeTenants({ ...services, signal }),
};
