import { deleteInBatches } from '#core/data/db/batches';
import { defineModule } from '#core/http/route';
import type { Job } from '#core/platform/jobs/job';
import { deleteEndedRules } from '#core/platform/limits/address-rules.queries';
import { RangeTaken } from '#modules/security/security.errors';
import { securityRoutes } from '#modules/security/security.routes';

const keptMs = 30 * 24 * 60 * 60_000;

const endedRules: Job = {
  name: 'ended-address-rules',
  description: 'Deletes automatic address rules 30 days after their expiry.',
  schedule: '31 * * * *',
  catchUp: 'run_once',
  timeoutMs: 5 * 60_000,
  run: async ({ services: { database, now }, signal }) => {
    const before = new Date(now().getTime() - keptMs).toISOString();
    return {
      deleted: await deleteInBatches(database.platform(), (max) => deleteEndedRules({ before, max }), signal),
    };
  },
};

/** Configuration of the limits that `core/platform/limits` enforces, for system administrators. */
export const securityModule = defineModule({
  name: 'security',
  description: 'Security configuration of the installation; rules for addresses',
  routes: securityRoutes,
  jobs: [endedRules],
  constraints: { ip_rules_range_key: RangeTaken },
});
