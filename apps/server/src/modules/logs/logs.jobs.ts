import { deleteInBatches } from '#core/data/db/batches';
import { keepDayPartitions } from '#core/data/db/day-partitions';
import { logConfiguration, type LogConfig } from '#core/data/log/log-config';
import { deleteOldErrorHours, deleteOldMinutes, deleteOldTenantHours } from '#core/data/log/request-counts.queries';
import type { Job, JobContext } from '#core/platform/jobs/job';
import { lastSlot } from '#core/platform/jobs/slots';
import type { Services } from '#core/platform/services';
import { archiveDays, type Archived } from '#modules/logs/archiving.service';
import { removeDeadExports } from '#modules/logs/exports.service';
import { deleteOldVolumes } from '#modules/logs/logs.queries';

type Dependencies = Pick<
  Services,
  'database' | 'files' | 'log' | 'logging' | 'now' | 'requestCounts' | 'runtimeSettings'
>;

const dayMs = 24 * 60 * 60_000;
/** One day more than the longest analysis. */
const countsKeptMs = 8 * dayMs;

export const retention: Job = {
  name: 'log-retention',
  description: 'Creates log partitions for future days; archives and purges expired lines, counts and exports.',
  schedule: '2-57/5 * * * *',
  catchUp: 'run_once',
  timeoutMs: 60 * 60_000,
  run: ({ services, ...context }) => keepLogs(services, context),
};

/** Creates partitions for future days and purges expired lines, counts and exports. */
export async function keepLogs(
  services: Dependencies,
  { connection, signal }: Omit<JobContext, 'services'>,
): Promise<void> {
  const now = services.now();
  const { value } = await services.runtimeSettings.read(logConfiguration);
  const archived = await archiveOld(services, { cleanup: value.cleanup, now, signal });
  const dropped = await keepDayPartitions(connection, 'application_logs', { now, before: archived?.before });
  if (dropped.length > 0) services.log.info({ dropped }, 'old log partitions were dropped');
  const before = new Date(now.getTime() - countsKeptMs).toISOString();
  const db = services.database.platform();
  await deleteInBatches(db, (max) => deleteOldMinutes({ before, max }), signal);
  await deleteInBatches(db, (max) => deleteOldTenantHours({ before, max }), signal);
  await deleteInBatches(db, (max) => deleteOldErrorHours({ before, max }), signal);
  await deleteInBatches(db, (max) => deleteOldVolumes({ before, max }), signal);
  await removeDeadExports(services, signal);
  // A day that was not archived stays, and the run fails.
  if (archived?.failure !== undefined) throw archived.failure;
}

type Cleaning = { cleanup: LogConfig['cleanup']; now: Date; signal: AbortSignal };

/** Lines that may be purged: undefined for none; with archives, only whole days that are in a file. */
async function archiveOld(services: Dependencies, { cleanup, now, signal }: Cleaning): Promise<Archived | undefined> {
  const { enabled, retentionDays, cleanupSchedule, archiveEnabled, archiveLocation } = cleanup;
  const due = lastSlot({ schedule: cleanupSchedule, timezone: 'UTC' }, now);
  if (!enabled || due === undefined) return undefined;
  const before = new Date(due.getTime() - retentionDays * dayMs);
  return archiveEnabled ? archiveDays(services, { before, location: archiveLocation, signal }) : { before };
}
