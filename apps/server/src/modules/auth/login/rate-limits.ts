import type { ErrorDefinition } from '#core/base/errors/app-error';
import { clientNetwork, isLoopback } from '#core/base/net/ranges';
import type { Query } from '#core/data/db/query';
import { createLimitedAttempt, limitKeyOf, type LimitedAttempt } from '#core/data/rate-limit/limited-attempts';
import { forgetAttempts } from '#core/data/rate-limit/postgres-store.queries';
import type { Services } from '#core/platform/services';
import { rateLimits } from '#modules/auth/auth.rules';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'now'>;

/**
 * Target of a guess: an app account, or the account of the address. An origin from which the account has logged in has
 * its own limit, so that strangers cannot lock the user out there.
 */
export type LoginTarget = { email: string; knownOrigin?: string | undefined } | { appAccountId: string };

/** Failed attempts are counted per target from every address, and per address for every target. */
export function loginAttempt(
  services: Dependencies,
  target: LoginTarget,
  ip: string,
  error: ErrorDefinition,
): LimitedAttempt {
  const account = { key: targetKey(services, target), ...rateLimits.account };
  const address = { key: `login-ip:${clientNetwork(ip)}`, ...rateLimits.address };
  return createLimitedAttempt(services, isLoopback(ip) ? [account] : [account, address], error);
}

function targetKey(services: Dependencies, target: LoginTarget): string {
  return 'email' in target ? accountKey(services, target) : `login-app:${target.appAccountId}`;
}

/**
 * A user who has verified the address is not blocked by failed attempts of others. The origins are those of the
 * account.
 */
export function forgetFailedLogins(services: Dependencies, email: string, origins: readonly { origin: string }[]) {
  const keys = [undefined, ...origins.map(({ origin }) => origin)].map((knownOrigin) =>
    accountKey(services, { email, knownOrigin }),
  );
  return keys.map((key): Query<never> => forgetAttempts({ key }));
}

function accountKey(
  services: Dependencies,
  { email, knownOrigin }: { email: string; knownOrigin?: string | undefined },
): string {
  const key = `login:${limitKeyOf(services, email)}`;
  return knownOrigin === undefined ? key : `${key}:${knownOrigin}`;
}

export function registrationAttempt(services: Dependencies, ip: string, error: ErrorDefinition): LimitedAttempt {
  return createLimitedAttempt(
    services,
    isLoopback(ip) ? [] : [{ key: `register-ip:${clientNetwork(ip)}`, ...rateLimits.registration }],
    error,
  );
}

/** Reset mails to one address, with or without an account. */
export function resetMailAttempt(services: Dependencies, email: string, error: ErrorDefinition): LimitedAttempt {
  return createLimitedAttempt(
    services,
    [{ key: `reset:${limitKeyOf(services, email)}`, ...rateLimits.resetMail }],
    error,
  );
}

/** Verification mails to one account. */
export function verificationMailAttempt(services: Dependencies, email: string, error: ErrorDefinition): LimitedAttempt {
  const limit = { key: `verification:${limitKeyOf(services, email)}`, ...rateLimits.verificationMail };
  return createLimitedAttempt(services, [limit], error);
}

/** Invitation mails: to one address from all tenants, and from one tenant to all addresses. */
export function invitationMailAttempt(
  services: Dependencies,
  { email, tenantId, isProven }: { email: string; tenantId: string; isProven: boolean },
  error: ErrorDefinition,
): LimitedAttempt {
  const recipient = { key: `invitation:${limitKeyOf(services, email)}`, ...rateLimits.invitationMail };
  const { invitationsOfTenant, invitationsOfUnprovenTenant } = rateLimits;
  const rule = isProven ? invitationsOfTenant : invitationsOfUnprovenTenant;
  const tenant = { key: `invitations-of:${tenantId}`, ...rule };
  return createLimitedAttempt(services, [recipient, tenant], error);
}
