import { deleteInBatches } from '#core/db/batches';
import { keepDayPartitions } from '#core/db/day-partitions';
import type { JobContext } from '#core/jobs/job';
import { logConfiguration } from '#core/log/log-config';
import { deleteOldErrorHours, deleteOldMinutes, deleteOldTenantHours } from '#core/log/request-counts.queries';
import type { Services } from '#core/services';
import { removeDeadExports } from '#modules/logs/exports.service';
import { deleteOldVolumes } from '#modules/logs/logs.queries';
import { lastCleanup } from '#modules/logs/logs.rules';

const dayMs = 24 * 60 * 60_000;
/** A day more than the longest analysis. */
const countsKeptMs = 8 * dayMs;

/** Housekeeping: partitions for the days to come, and the end of lines, counts and exports whose time is over. */
export async function keepLogs(
  services: Services,
  { connection, signal }: Omit<JobContext, 'services'>,
): Promise<void> {
  const now = services.now();
  const { value } = await services.runtimeSettings.read(logConfiguration);
  const { enabled, retentionDays, cleanupSchedule } = value.cleanup;
  const due = lastCleanup(cleanupSchedule, now).getTime();
  const oldest = enabled ? new Date(due - retentionDays * dayMs) : undefined;
  const dropped = await keepDayPartitions(connection, 'log_blocks', { now, before: oldest });
  if (dropped.length > 0) services.log.info({ dropped }, 'old days of the log were removed');
  const before = new Date(now.getTime() - countsKeptMs).toISOString();
  const db = services.database.platform();
  await deleteInBatches(db, (most) => deleteOldMinutes({ before, most }), signal);
  await deleteInBatches(db, (most) => deleteOldTenantHours({ before, most }), signal);
  await deleteInBatches(db, (most) => deleteOldErrorHours({ before, most }), signal);
  await deleteInBatches(db, (most) => deleteOldVolumes({ before, most }), signal);
  await removeDeadExports(services, signal);
}
