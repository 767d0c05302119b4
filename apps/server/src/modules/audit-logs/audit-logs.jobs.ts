import { extendAuditPartitions } from '#core/data/db/migrate';
import type { Job } from '#core/platform/jobs/job';

export const partitions: Job = {
  name: 'audit-partitions',
  description: 'Creates partitions of the audit trail for future months.',
  schedule: '3 * * * *',
  catchUp: 'run_once',
  timeoutMs: 60_000,
  run: ({ services, connection }) => extendAuditPartitions(connection, services.now()),
};
