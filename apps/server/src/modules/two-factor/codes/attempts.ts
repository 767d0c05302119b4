import type { Actor, Person } from '#core/base/access/principal';
import { createLimitedAttempt, limitKeyOf, type LimitedAttempt } from '#core/data/rate-limit/limited-attempts';
import type { Services } from '#core/platform/services';
import { secondFactorLimitKeys, secondFactorLimitOwner } from '#modules/auth/index';
import { TooManyCodes, TooManyGuesses } from '#modules/two-factor/two-factor.errors';
import { guessRules, sendRules } from '#modules/two-factor/two-factor.rules';
import type { DeliveredMethod } from '#modules/two-factor/two-factor.schemas';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'now'>;

/** Target of a guess: one delivered code, or any current code of the app or the backup codes of the account. */
export type Challenge = { kind: 'delivered'; method: DeliveredMethod; codeId: string } | { kind: 'totp' | 'backup' };

export function limitOwner({ accountId, homeTenantId, isAccountWide }: Actor<Person>): string {
  return secondFactorLimitOwner(accountId, isAccountWide ? undefined : homeTenantId);
}

/** A guess counts against the limit of its challenge and the limit of the account. */
export function guessAttempt(services: Dependencies, owner: string, challenge: Challenge): LimitedAttempt {
  const keys = secondFactorLimitKeys(owner);
  const challengeKey = challenge.kind === 'delivered' ? `2fa-code:${challenge.codeId}` : keys[challenge.kind];
  return createLimitedAttempt(
    services,
    [
      { key: challengeKey, ...guessRules.challenge },
      { key: keys.all, ...guessRules.account },
    ],
    TooManyGuesses,
  );
}

/**
 * Limits of codes sent for an account, for every method and reason. Codes to an unverified target also count against
 * limits of the target, over all accounts, because its owner may not have requested any.
 */
export function sendAttempt(services: Dependencies, owner: string, unprovenTarget?: string): LimitedAttempt {
  const limits = sendRules.flatMap(({ name, ...rule }) => {
    const ofAccount = { key: `2fa-send-${name}:${owner}`, ...rule };
    if (unprovenTarget === undefined) return [ofAccount];
    return [ofAccount, { key: `2fa-target-${name}:${limitKeyOf(services, unprovenTarget)}`, ...rule }];
  });
  return createLimitedAttempt(services, limits, TooManyCodes);
}
