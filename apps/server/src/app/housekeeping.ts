import type pg from 'pg';

import { deleteInBatches } from '#core/db/batches';
import { extendAuditPartitions } from '#core/db/migrate';
import { deleteEndedRules } from '#core/limits/address-rules.queries';
import { deleteDeliveredMail } from '#core/mail/mail.queries';
import { deleteOldSecurityEvents } from '#core/security-events/security-events.queries';
import type { Services } from '#core/services';
import { deleteOldUsage } from '#core/usage/usage.queries';
import { deleteExpired } from '#modules/auth/index';
import { deleteAbandonedFlows } from '#modules/identity-providers/index';
import { keepLogs } from '#modules/logs/index';
import { reconcileStorage, sweepFiles } from '#modules/storage/index';
import { purgeTenants } from '#modules/tenants/index';

const everyMs = 60 * 60_000;
/** Room that a dead process had taken for an upload is missing until then. */
const sweepEveryMs = 60_000;

export type Housekeeping = { close(): Promise<void> };

const day = 24 * 60 * 60_000;

/** Delivered mails and automatic rules that have ended are kept for 30 days, security events for 90, the usage of credentials for 400. */
async function deleteOldRecords({ database, now }: Services): Promise<void> {
  const before = (days: number) => new Date(now().getTime() - days * day).toISOString();
  const db = database.platform();
  await deleteInBatches(db, (most) => deleteDeliveredMail({ before: before(30), most }));
  await deleteInBatches(db, (most) => deleteOldSecurityEvents({ before: before(90), most }));
  await deleteInBatches(db, (most) => deleteEndedRules({ before: before(30), most }));
  await deleteInBatches(db, (most) => deleteOldUsage({ before: before(400), most }));
}

/** What has to happen now and then for the installation to stay healthy; harmless when several processes do it. */
export function startHousekeeping(services: Services, connection: pg.ClientConfig): Housekeeping {
  // What later writes need comes first.
  const steps: (() => Promise<unknown>)[] = [
    () => extendAuditPartitions(connection, services.now()),
    () => keepLogs({ ...services, log: services.log.child({ service: 'logs' }) }, connection),
    () => deleteExpired(services),
    () => deleteAbandonedFlows(services),
    () => deleteOldRecords(services),
    () => purgeTenants(services),
    () => reconcileStorage(services),
  ];
  const keepHouse = async (): Promise<void> => {
    for (const step of steps) await step().catch((error: unknown) => complain(services, error));
  };

  const tasks = [repeat(services, everyMs, keepHouse), repeat(services, sweepEveryMs, () => sweepFiles(services))];
  return {
    close: async () => {
      await Promise.all(tasks.map((task) => task.close()));
    },
  };
}

/** Now and then again, never twice at a time. */
function repeat(services: Services, intervalMs: number, work: () => Promise<unknown>): Housekeeping {
  let running: Promise<unknown> | undefined;
  const start = () => {
    running ??= work()
      .catch((error: unknown) => complain(services, error))
      .finally(() => (running = undefined));
  };
  const timer = setInterval(start, intervalMs).unref();
  start();
  return {
    close: async () => {
      clearInterval(timer);
      await running;
    },
  };
}

function complain({ log }: Services, error: unknown): void {
  log.warn({ err: error }, 'housekeeping failed and will be tried again');
}
