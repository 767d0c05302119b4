import { keepDayPartitions } from '#core/data/db/day-partitions';
import type { Job, JobContext } from '#core/platform/jobs/job';

const dayMs = 24 * 60 * 60_000;
const keptDays = 30;

export const retention: Job = {
  name: 'provider-call-retention',
  description: 'Creates partitions of the provider call log for the coming days and drops expired ones.',
  schedule: '17 * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: keepCalls,
};

/** Creates partitions for the coming days and drops expired ones. */
export async function keepCalls({ services, connection }: JobContext): Promise<void> {
  const now = services.now();
  const before = new Date(now.getTime() - keptDays * dayMs);
  const dropped = await keepDayPartitions(connection, 'provider_calls', { now, before });
  if (dropped.length > 0) services.log.info({ dropped }, 'old partitions of the call log were dropped');
}
