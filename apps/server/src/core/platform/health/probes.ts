import type { Database } from '#core/data/db/database';
import type { ObjectStore } from '#core/data/files/object-store';
import type { Logging } from '#core/data/log/log';
import type { Probe, Verdict } from '#core/platform/health/health';
import { hasOverdueMail, checkStandby } from '#core/platform/health/health.queries';
import type { Realtime } from '#core/platform/health/realtime';
import type { Limits } from '#core/platform/limits/limits';
import { greetMailServer } from '#core/platform/mail/mail-server';

type Parts = {
  database: Pick<Database, 'platform' | 'faults'>;
  limits: Pick<Limits, 'shared'>;
  files: Pick<ObjectStore, 'check'>;
  logging: Pick<Logging, 'state'>;
  realtime: Realtime;
  /** Undefined: mail only waits for the operator to read it. */
  smtpUrl: string | undefined;
  mailTimeoutMs?: number;
  now(): Date;
};

const healthy: Verdict = { status: 'healthy', message: 'reachable' };
const readOnly: Verdict = { status: 'degraded', message: 'read-only: writes are refused' };
const damaged: Verdict = { status: 'degraded', message: 'damaged data was met: see the log' };
/** Writes are tried all the time, if only of the log. */
const readOnlyForMs = 10_000;
/** Long enough to be seen by an operator who looks now and then. */
const damagedForMs = 3_600_000;
/** The relay looks every 30 seconds; a mail that is due for this long was left lying. */
const overdueMs = 600_000;
const recentMs = 60_000;

/** The configured dependencies of requests: the database first, without which nothing works. */
export function listProbes(parts: Parts): Probe[] {
  const { database, files, limits, realtime, smtpUrl } = parts;
  const probes: Probe[] = [
    {
      name: 'database',
      check: async () => ((await database.platform().first(checkStandby))?.is_standby === true ? readOnly : healthy),
      noticed: () => faultsVerdict(database),
    },
    {
      name: 'storage',
      check: (signal) => files.check(signal).then(() => ({ status: 'healthy', message: 'writable' })),
      failure: 'not writable',
    },
    { name: 'logs', isInstant: true, check: () => logsVerdict(parts) },
  ];
  if (limits.shared() !== 'none') probes.push({ name: 'redis', isInstant: true, check: () => redisVerdict(parts) });
  if (realtime.enabled) probes.push({ name: 'realtime', check: (signal) => realtime.check(signal) });
  if (smtpUrl !== undefined) probes.push(mailProbe(parts, smtpUrl));
  return probes;
}

// Each login is counted by the mail server: refusals in a row may have the address banned.
const mailFreshMs = 30_000;

function mailProbe({ database, mailTimeoutMs, now }: Parts, smtpUrl: string): Probe {
  return {
    name: 'mail',
    freshMs: mailFreshMs,
    failure: 'no mail server answers',
    async check() {
      const dueBefore = new Date(now().getTime() - overdueMs).toISOString();
      const overdue = database
        .platform()
        .first(hasOverdueMail({ dueBefore }))
        // Without a database nothing is known of mails, and the database is blamed for itself.
        .catch(() => undefined);
      await greetMailServer(smtpUrl, mailTimeoutMs);
      return (await overdue)?.overdue === true
        ? { status: 'degraded', message: 'mails wait for longer than they should' }
        : healthy;
    },
  };
}

function faultsVerdict({ faults }: Pick<Database, 'faults'>): Verdict | undefined {
  if (faults.sinceMs('read_only') < readOnlyForMs) return readOnly;
  return faults.sinceMs('damaged') < damagedForMs ? damaged : undefined;
}

function redisVerdict({ limits }: Parts): Verdict {
  return limits.shared() === 'up'
    ? healthy
    : { status: 'unhealthy', message: 'not reachable: each process counts for itself' };
}

function logsVerdict({ logging, now }: Parts): Verdict {
  const { isWaiting, lastDropAt } = logging.state();
  if (isWaiting) return { status: 'degraded', message: 'log lines wait: the database does not take them' };
  return lastDropAt !== undefined && now().getTime() - lastDropAt < recentMs
    ? { status: 'degraded', message: 'log lines came faster than they could be written; some are lost' }
    : { status: 'healthy', message: 'kept' };
}
