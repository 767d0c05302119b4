import { newId } from '#core/crypto/ids';
import type { Database } from '#core/db/database';
import { raiseAlert, resolveAlert, resolveQuietAlerts, type AlertType, type NewAlert } from '#core/jobs/alerts.queries';
import type { Log } from '#core/log/log';

/** What a dispatch has come to so far. */
export type Tally = { executed: number; failed: number; skipped: number; alertsSent: number };

/** What operators should know: one open alert for each type and subject, and a line in the log for each new one. */
export type Alerts = {
  raise(alert: NewAlert, tally?: Tally): Promise<void>;
  /** The cause is gone. */
  resolve(type: AlertType, subjects: readonly string[]): Promise<void>;
  /** The cause was not seen for that long. */
  resolveQuiet(type: AlertType, quietMs: number): Promise<void>;
};

export function createAlerts({ database, log, now }: { database: Database; log: Log; now(): Date }): Alerts {
  const { slow } = database.platform();
  return {
    async raise(alert, tally) {
      const raised = await slow.first(raiseAlert({ ...alert, id: newId(), at: now().toISOString() }));
      if (raised?.is_new !== true) return;
      if (tally !== undefined) tally.alertsSent += 1;
      const { type, subject, severity, title, message } = alert;
      const line = { alertId: raised.id, type, subject, severity, explanation: message };
      if (severity === 'critical') log.error(line, title);
      else log.warn(line, title);
    },
    async resolve(type, subjects) {
      const at = now().toISOString();
      if (subjects.length > 0) await slow.flight(subjects.map((subject) => resolveAlert({ type, subject, at })));
    },
    async resolveQuiet(type, quietMs) {
      const at = now();
      const seenBefore = new Date(at.getTime() - quietMs).toISOString();
      await slow.all(resolveQuietAlerts({ type, seenBefore, at: at.toISOString() }));
    },
  };
}
