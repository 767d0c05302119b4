import { deleteInBatches } from '#core/data/db/batches';
import type { Job } from '#core/platform/jobs/job';
import { deleteOldCallHours } from '#core/platform/outbound/call-log.queries';
import { checkQuietConnectors } from '#modules/connectors/health/checks.service';
import { deleteOldConnectorEvents } from '#modules/connectors/health/health.queries';
import { deleteOldQuota } from '#modules/connectors/overrides/quotas.queries';

const dayMs = 24 * 60 * 60_000;
const eventsKeptMs = 30 * dayMs;
const hoursKeptMs = 366 * dayMs;
const quotaKeptMs = 2 * dayMs;

const check: Job = {
  name: 'connectors-check',
  description: 'Runs a health check on connectors without a call for a minute.',
  schedule: '* * * * *',
  catchUp: 'run_once',
  timeoutMs: 55_000,
  run: ({ services, signal }) => checkQuietConnectors(services, { signal, jitterMs: 250 }),
};

const housekeeping: Job = {
  name: 'connectors-history',
  description: 'Deletes status changes after 30 days, quotas of past periods, and hourly counts of calls after a year.',
  schedule: '53 * * * *',
  catchUp: 'run_once',
  timeoutMs: 10 * 60_000,
  run: async ({ services: { database, now }, signal }) => {
    const before = (keptMs: number) => new Date(now().getTime() - keptMs).toISOString();
    const db = database.platform();
    const events = { before: before(eventsKeptMs) };
    const hours = { before: before(hoursKeptMs) };
    const quota = { before: before(quotaKeptMs) };
    return {
      events: await deleteInBatches(db, (max) => deleteOldConnectorEvents({ ...events, max }), signal),
      hours: await deleteInBatches(db, (max) => deleteOldCallHours({ ...hours, max }), signal),
      quotas: await deleteInBatches(db, (max) => deleteOldQuota({ ...quota, max }), signal),
    };
  },
};

export const connectorJobs: readonly Job[] = [check, housekeeping];
