import { newId } from '#core/base/crypto/ids';
import { unique } from '#test/support/factories';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    updateScheduledJob: () => ({ enabled: true, schedule: '* * * * *', timezone: 'UTC', catch_up: 'skip' }),
  },
  ids: {
    'acknowledgeDispatcherAlert params.id': 'alert',
  },
  records: async ({ test, secret }) => {
    const alert = newId();
    // As if a scheduled job had failed.
    await test.service.services.database.platform().interactive.all({
      kind: 'write',
      text: `insert into dispatcher_alerts (id, type, subject, severity, title, message, created_at, last_seen_at)
             values ($1, 'job_failed', $2, 'warning', $2, $2, now(), now())`,
      values: [alert, unique(secret)],
      prepare: false,
    });
    const job = 'storage-sweep';
    return {
      alert,
      'listScheduledJobRuns params.name': job,
      'runScheduledJob params.name': job,
      'updateScheduledJob params.name': job,
    };
  },
};
