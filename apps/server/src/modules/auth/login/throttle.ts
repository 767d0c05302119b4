import { keyedHash } from '#core/crypto/secrets';
import type { Query } from '#core/db/query';
import type { ErrorDefinition } from '#core/errors/app-error';
import type { Services } from '#core/services';
import { createAttempt, type Attempt } from '#core/throttle/throttle';
import { forgetAttempts } from '#core/throttle/throttle.queries';
import { addressBucket, isLoopback, throttleRules } from '#modules/auth/auth.rules';

/** Guesses at one account's password: by account wherever they come from, by address whatever they aim at. */
export function loginAttempt(services: Services, email: string, ip: string, error: ErrorDefinition): Attempt {
  const account = { key: accountKey(services, email), ...throttleRules.account };
  const address = { key: `login-ip:${addressBucket(ip)}`, ...throttleRules.address };
  return createAttempt(services, isLoopback(ip) ? [account] : [account, address], error);
}

/** Whoever has proven the address need not wait for those who guessed at its password. */
export function liftLoginLock(services: Services, email: string): Query<never> {
  return forgetAttempts({ key: accountKey(services, email) });
}

function accountKey(services: Services, email: string): string {
  return `login:${hashed(services, email)}`;
}

// Hashed, so that the table is no list of who tried to log in.
function hashed(services: Services, email: string): string {
  return keyedHash(services.encryption.keyFor('throttle'), email);
}

export function registrationAttempt(services: Services, ip: string, error: ErrorDefinition): Attempt {
  return createAttempt(
    services,
    isLoopback(ip) ? [] : [{ key: `register-ip:${addressBucket(ip)}`, ...throttleRules.registration }],
    error,
  );
}

/** Reset mails to one address, whether or not it has an account. */
export function resetMailAttempt(services: Services, email: string, error: ErrorDefinition): Attempt {
  return createAttempt(services, [{ key: `reset:${hashed(services, email)}`, ...throttleRules.resetMail }], error);
}

/** Mails that ask one person to prove the address. */
export function verificationMailAttempt(services: Services, email: string, error: ErrorDefinition): Attempt {
  const budget = { key: `verification:${hashed(services, email)}`, ...throttleRules.verificationMail };
  return createAttempt(services, [budget], error);
}

/** Invitations by mail: to one address whoever invites, and from one tenant whomever it invites. */
export function invitationMailAttempt(
  services: Services,
  { email, tenantId }: { email: string; tenantId: string },
  error: ErrorDefinition,
): Attempt {
  const recipient = { key: `invitation:${hashed(services, email)}`, ...throttleRules.invitationMail };
  const tenant = { key: `invitations-of:${tenantId}`, ...throttleRules.invitationsOfTenant };
  return createAttempt(services, [recipient, tenant], error);
}
