import { deleteInBatches } from '#core/data/db/batches';
import { deleteOldSecurityEvents } from '#core/data/security-events/security-events.queries';
import { deleteExpiredKeys } from '#core/http/idempotency/idempotency.queries';
import type { Job } from '#core/platform/jobs/job';
import { deleteDeliveredMail } from '#core/platform/mail/mail.queries';
import type { Services } from '#core/platform/services';

type Dependencies = Pick<Services, 'database' | 'now'>;

const dayMs = 24 * 60 * 60_000;
const daysAgo = ({ now }: Dependencies, days: number) => new Date(now().getTime() - days * dayMs).toISOString();

export const systemJobs: readonly Job[] = [
  {
    name: 'delivered-mail',
    description: 'Deletes mails 30 days after they were delivered or given up.',
    schedule: '13 * * * *',
    catchUp: 'run_once',
    timeoutMs: 10 * 60_000,
    run: async ({ services, signal }) => {
      const before = daysAgo(services, 30);
      const db = services.database.platform();
      return { deleted: await deleteInBatches(db, (max) => deleteDeliveredMail({ before, max }), signal) };
    },
  },
  {
    name: 'old-security-events',
    description: 'Deletes security events after 90 days.',
    schedule: '19 * * * *',
    catchUp: 'run_once',
    timeoutMs: 10 * 60_000,
    run: async ({ services, signal }) => {
      const before = daysAgo(services, 90);
      const db = services.database.platform();
      return { deleted: await deleteInBatches(db, (max) => deleteOldSecurityEvents({ before, max }), signal) };
    },
  },
  {
    name: 'expired-idempotency-keys',
    description: 'Deletes stored answers of idempotency keys 24 hours after their creation.',
    schedule: '43 * * * *',
    catchUp: 'run_once',
    timeoutMs: 10 * 60_000,
    run: async ({ services: { database, now }, signal }) => {
      const before = now().toISOString();
      const db = database.platform();
      return { deleted: await deleteInBatches(db, (max) => deleteExpiredKeys({ before, max }), signal) };
    },
  },
];
