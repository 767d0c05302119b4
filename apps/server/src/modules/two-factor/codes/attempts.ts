import type { Actor, Person } from '#core/access/principal';
import type { Services } from '#core/services';
import { createAttempt, type Attempt } from '#core/throttle/throttle';
import { secondFactorBudget } from '#modules/auth/index';
import { TooManyCodes, TooManyGuesses } from '#modules/two-factor/two-factor.errors';
import { guessRules, sendRules } from '#modules/two-factor/two-factor.rules';
import type { DeliveredMethod } from '#modules/two-factor/two-factor.schemas';

/** What a guess aims at: one delivered code, or whatever code the account's app or list has at the moment. */
export type Challenge = { kind: 'delivered'; method: DeliveredMethod; codeId: string } | { kind: 'totp' | 'backup' };

/**
 * Whose budget it is. A session that one tenant's provider vouched for has one of its own: whoever runs the provider must not
 * be able to spend what the person has everywhere else.
 */
export function budgetOwner(actor: Actor<Person>): string {
  return actor.isAccountWide ? actor.accountId : `${actor.accountId}@${actor.homeTenantId}`;
}

/** A guess draws from the budget of its challenge, and from the one that all guesses at the account share. */
export function guessAttempt(services: Services, owner: string, challenge: Challenge): Attempt {
  return createAttempt(
    services,
    [
      { key: challengeKey(challenge, owner), ...guessRules.challenge },
      { key: secondFactorBudget(owner), ...guessRules.account },
    ],
    TooManyGuesses,
  );
}

function challengeKey(challenge: Challenge, owner: string): string {
  if (challenge.kind === 'delivered') return `2fa-code:${challenge.codeId}`;
  return `2fa-${challenge.kind}:${owner}`;
}

/** Codes sent for an account, whatever the method and the reason. */
export function sendAttempt(services: Services, owner: string): Attempt {
  return createAttempt(
    services,
    sendRules.map(({ name, ...rule }) => ({ key: `2fa-send-${name}:${owner}`, ...rule })),
    TooManyCodes,
  );
}
