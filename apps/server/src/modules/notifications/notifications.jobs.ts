import { deleteInBatches } from '#core/data/db/batches';
import type { Job } from '#core/platform/jobs/job';
import type { Work } from '#core/platform/queue/work';
import type { Services } from '#core/platform/services';
import { adapters } from '#modules/notifications/channels/adapters';
import { listWaiting } from '#modules/notifications/deliveries/deliveries.queries';
import { deliverBy } from '#modules/notifications/deliveries/delivering';
import { sendDeliveries } from '#modules/notifications/deliveries/tasks';
import { expandNotices } from '#modules/notifications/notices/expansion';
import {
  deleteOldDeliveries,
  deleteOldNotices,
  deleteOldNotifications,
  listTenantsWithOld,
  listTenantsWithQueued,
} from '#modules/notifications/notices/notices.queries';
import { noticesWork, taskOf } from '#modules/notifications/notices/wake';

const maxConcurrent = 1000;
const keptMs = 90 * 24 * 60 * 60_000;

/** Finds work of processes that ended between a commit and its task, or during a delivery. */
export const sweepNotifications: Job = {
  name: 'notifications-sweep',
  description: 'Restarts the fan-out and the deliveries that no process works on.',
  schedule: '* * * * *',
  catchUp: 'run_once',
  timeoutMs: 60_000,
  async run({ services }) {
    const { interactive } = services.database.platform();
    const tenants = await interactive.all(listTenantsWithQueued({ max: maxConcurrent }));
    if (tenants.length > 0) {
      await services.queue.sendMany(
        noticesWork,
        tenants.map(({ id }) => taskOf(id)),
      );
    }
    const waiting = await interactive.all(listWaiting({ now: services.now().toISOString(), max: maxConcurrent }));
    await sendDeliveries(
      services,
      waiting.map(({ tenant_id: tenantId, channel }) => ({ tenantId, channel })),
    );
  },
};

export const forgetNotifications: Job = {
  name: 'notifications-clean-up',
  description: 'Deletes notifications after 90 days.',
  schedule: '25 * * * *',
  catchUp: 'run_once',
  timeoutMs: 30 * 60_000,
  async run({ services, signal }) {
    const before = new Date(services.now().getTime() - keptMs).toISOString();
    const tenants = await services.database
      .platform()
      .interactive.all(listTenantsWithOld({ before, max: maxConcurrent }));
    const failures: unknown[] = [];
    for (const { id: tenantId } of tenants) {
      signal.throwIfAborted();
      await forget(services, { tenantId, before }, signal).catch((error: unknown) => {
        services.log.error({ err: error, tenantId }, 'old notifications of a tenant could not be deleted');
        failures.push(error);
      });
    }
    if (failures.length > 0) throw failures[0];
  },
};

/** Fan-out of notices, and their deliveries. */
export const notificationTasks: readonly Work[] = [expandNotices(), deliverBy(adapters)];

async function forget(
  { database }: Pick<Services, 'database' | 'log' | 'now' | 'queue'>,
  old: { tenantId: string; before: string },
  signal: AbortSignal,
): Promise<void> {
  const db = database.tenant(old.tenantId);
  for (const deleteOld of [deleteOldDeliveries, deleteOldNotifications, deleteOldNotices]) {
    await deleteInBatches(db, (max) => deleteOld({ ...old, max }), signal);
  }
}
