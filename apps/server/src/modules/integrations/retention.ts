import { keepDayPartitions } from '#core/data/db/day-partitions';
import type { JobContext } from '#core/platform/jobs/job';

const dayMs = 24 * 60 * 60_000;
const keptDays = 30;

/** Creates partitions for the coming days and drops expired ones. */
export async function keepCalls({ services, connection }: JobContext): Promise<void> {
  const now = services.now();
  const before = new Date(now.getTime() - keptDays * dayMs);
  const dropped = await keepDayPartitions(connection, 'provider_calls', { now, before });
  if (dropped.length > 0) services.log.info({ dropped }, 'old days of calls were removed');
}
