import { sameSecret } from '#core/crypto/secrets';
import type { Database } from '#core/db/database';
import type { Alerts } from '#core/jobs/alerts';
import { DispatcherNotConfigured } from '#core/jobs/errors';
import type { Log } from '#core/log/log';
import { countAttempt } from '#core/throttle/throttle.queries';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const windowMs = 60_000;
const wrongBeforeAlert = 20;
/** Wrong secrets that stay away for so long are over. */
export const quietAfterMs = 10 * 60_000;

/** Recognises whoever knows the secret of the dispatcher. */
export type SecretCheck = {
  /** @throws DispatcherNotConfigured where there is no secret to know */
  assertConfigured(): void;
  /** Whether one of the three headers holds the secret. */
  knows(headers: Headers): boolean;
  /** Counts a wrong secret; twenty in a minute from one address are an alert. A missing one is none. */
  noteWrong(headers: Headers, address: string): Promise<void>;
};

type Options = { secret: string | undefined; database: Database; log: Log; now(): Date; alerts: Alerts };

export function createSecretCheck({ secret, database, log, now, alerts }: Options): SecretCheck {
  async function count(address: string): Promise<void> {
    const at = now();
    const windowEndsAt = new Date(at.getTime() + windowMs).toISOString();
    const key = `dispatcher-secret:${address}`;
    const counted = await database.credential().slow.first(countAttempt({ key, now: at.toISOString(), windowEndsAt }));
    if (counted === undefined || counted.failures % wrongBeforeAlert !== 0) return;
    await alerts.raise({
      type: 'unauthorized_calls',
      subject: address,
      severity: 'warning',
      title: 'Calls of the dispatcher with a wrong secret',
      message: `${counted.failures} calls within a minute from ${address}. Correct the caller, or block the address.`,
    });
  }

  return {
    assertConfigured() {
      if (secret === undefined) throw DispatcherNotConfigured();
    },
    knows(headers) {
      const given = presented(headers);
      return secret !== undefined && given !== undefined && sameSecret(given, secret);
    },
    async noteWrong(headers, address) {
      if (presented(headers) === undefined) return;
      await count(address).catch((error: unknown) =>
        log.warn({ err: error }, 'a wrong dispatcher secret could not be counted'),
      );
    },
  };
}

function presented(headers: Headers): string | undefined {
  const bearer = /^Bearer +(.+)$/i.exec(single(headers.authorization) ?? '')?.[1];
  return single(headers['x-dispatcher-secret']) ?? single(headers['x-cron-secret']) ?? bearer;
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
