import { sameSecret } from '#core/base/crypto/secrets';
import { clientNetwork } from '#core/base/net/ranges';
import { createMemoryStore } from '#core/data/rate-limit/memory-store';
import type { BlockingLimit } from '#core/data/rate-limit/rate-limiter';
import type { Alerts } from '#core/platform/jobs/alerts';
import { DispatcherNotConfigured } from '#core/platform/jobs/errors';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The twentieth wrong secret within a minute exceeds the limit; further ones are reported once a minute. */
const limit: BlockingLimit = { max: 19, windowMs: 60_000, blockMs: 60_000, maxViolations: 1 };
/** Wrong secrets that stay away for so long are over. */
export const quietAfterMs = 10 * 60_000;

/** Recognises a caller with the secret of the dispatcher. */
export type SecretCheck = {
  /** @throws DispatcherNotConfigured where there is no secret to know */
  assertConfigured(): void;
  /** Whether one of the three headers holds the secret. */
  knows(headers: Headers): boolean;
  /**
   * Counts a wrong secret in this process; twenty in a minute from one network (`clientNetwork`) raise an alert. A missing
   * secret does not count.
   */
  noteWrong(headers: Headers, address: string): Promise<void>;
};

type Options = { secret: string | undefined; now(): Date; alerts: Alerts };

export function createSecretCheck({ secret, now, alerts }: Options): SecretCheck {
  // In memory: a caller without the secret must not be able to keep the database busy.
  const wrongSecrets = createMemoryStore(() => now().getTime());

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
      const network = clientNetwork(address);
      if (wrongSecrets.take(network, limit)?.isLastViolation !== true) return;
      await alerts.raise({
        type: 'unauthorized_calls',
        subject: network,
        severity: 'warning',
        title: 'Calls of the dispatcher with a wrong secret',
        message: `${limit.max + 1} calls or more within a minute from ${network}. Correct the caller, or block the address.`,
      });
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
