import { newId } from '#core/base/crypto/ids';
import type { Database } from '#core/data/db/database';
import type { Log } from '#core/data/log/log';
import {
  raiseAlert,
  resolveAlert,
  resolveJobAlerts,
  resolveQuietAlerts,
  type AlertType,
  type NewAlert,
} from '#core/platform/jobs/alerts.queries';

/** Counts of a dispatch so far. */
export type Tally = { executed: number; failed: number; skipped: number; alertsSent: number };

/**
 * What operators should know: one open alert for each type and subject, and a line in the log for each new one. Nothing here
 * rejects: what cannot be written is a line in the log, and never keeps a job from its run.
 */
export type Alerts = {
  raise(alert: NewAlert, tally?: Tally): Promise<void>;
  /** The cause is gone. */
  resolve(type: AlertType, subjects: readonly string[]): Promise<void>;
  /** The cause was not seen for that long. */
  resolveQuiet(type: AlertType, quietMs: number): Promise<void>;
  /** Alerts of jobs that do not exist any more or are disabled. */
  resolveOrphans(jobs: readonly string[]): Promise<void>;
};

export function createAlerts({ database, log, now }: { database: Database; log: Log; now(): Date }): Alerts {
  const { interactive } = database.platform();
  const nowText = () => now().toISOString();

  async function written(writing: Promise<unknown>): Promise<void> {
    await writing.catch((error: unknown) => log.error({ err: error }, 'an alert could not be written'));
  }

  async function raise(alert: NewAlert, tally: Tally | undefined): Promise<void> {
    const raised = await interactive.first(raiseAlert({ ...alert, id: newId(), at: nowText() }));
    if (raised?.is_new !== true) return;
    if (tally !== undefined) tally.alertsSent += 1;
    const { type, subject, severity, title, message } = alert;
    const line = { alertId: raised.id, type, subject, severity, explanation: message };
    if (severity === 'critical') log.error(line, title);
    else log.warn(line, title);
  }

  return {
    raise: (alert, tally) => written(raise(alert, tally)),
    async resolve(type, subjects) {
      const at = nowText();
      if (subjects.length > 0)
        await written(interactive.batch(subjects.map((subject) => resolveAlert({ type, subject, at }))));
    },
    async resolveQuiet(type, quietMs) {
      const seenBefore = new Date(now().getTime() - quietMs).toISOString();
      await written(interactive.all(resolveQuietAlerts({ type, seenBefore, at: nowText() })));
    },
    resolveOrphans: (jobs) => written(interactive.all(resolveJobAlerts({ jobs, at: nowText() }))),
  };
}
