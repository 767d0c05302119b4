import { sha256 } from '#core/base/crypto/secrets';

const hour = 3_600_000;
const day = 24 * hour;

/** Idle timeout and maximum lifetime of a session (NIST SP 800-63B); longer with `rememberMe`. */
export function sessionLifetime(remembered: boolean): { idleMs: number; absoluteMs: number } {
  return remembered ? { idleMs: 14 * day, absoluteMs: 30 * day } : { idleMs: day, absoluteMs: 7 * day };
}

const refreshPrefix = 'rt1_';

export function presentRefreshToken(secret: string): string {
  return refreshPrefix + secret;
}

/** The stored hash of a refresh token; undefined for text that cannot be a token, without a query. */
export function refreshTokenHash(token: string): Buffer | undefined {
  return /^rt1_[A-Za-z0-9_-]{43}$/.test(token) ? sha256(token) : undefined;
}

/** All one-time tokens (reset links, tenant selection) have one form; the database stores their purpose. */
export function oneTimeTokenHash(token: string): Buffer | undefined {
  return /^[A-Za-z0-9_-]{43}$/.test(token) ? sha256(token) : undefined;
}

/** Maximum number of failures per window. */
export const rateLimits = {
  account: { max: 10, windowMs: 15 * 60_000 },
  address: { max: 100, windowMs: 10 * 60_000 },
  registration: { max: 60, windowMs: 60_000 },
  resetMail: { max: 3, windowMs: 10 * 60_000 },
  verificationMail: { max: 3, windowMs: 10 * 60_000 },
  invitationMail: { max: 3, windowMs: 10 * 60_000 },
  invitationsOfTenant: { max: 200, windowMs: day },
  /** For a tenant without an administrator who has verified an address. */
  invitationsOfUnprovenTenant: { max: 10, windowMs: day },
} as const;

type UsedToken = { used_at: string | null; settled_at: string | null };

/** The latest time at which the answer to a token left, for a process that died before it recorded that time. */
const unsettledMs = 10_000;

/**
 * The meaning of a used refresh token that arrives again. `repeat`: the same successor is returned. `replay`: it
 * arrived too late, so two parties hold the token. `late`: it arrived in time, but can no longer be answered.
 */
export function classifyReuse(reuse: {
  token: UsedToken;
  successor: UsedToken | undefined;
  receivedAt: number;
  graceMs: number;
}): 'repeat' | 'replay' | 'late' {
  const { token, successor, receivedAt, graceMs } = reuse;
  const endsAt =
    graceMs === 0 ? settledAt(token) : Math.min(Date.parse(token.used_at!) + graceMs, settledAt(successor));
  if (receivedAt > endsAt) return 'replay';
  return graceMs > 0 && successor !== undefined && successor.used_at === null ? 'repeat' : 'late';
}

function settledAt(token: UsedToken | undefined): number {
  if (token === undefined || token.used_at === null) return Infinity;
  return Date.parse(token.settled_at ?? token.used_at) + (token.settled_at === null ? unsettledMs : 0);
}

/**
 * Owner of the rate limits of second factors. A session through a provider of one tenant has its own, so that the operator
 * of the provider cannot use up those of the account.
 */
export function secondFactorLimitOwner(accountId: string, tenantId?: string): string {
  return tenantId === undefined ? accountId : `${accountId}@${tenantId}`;
}

/** Keys of the rate limits of guesses: for codes of the app, for backup codes, and for all codes together. */
export function secondFactorLimitKeys(owner: string) {
  return { totp: `2fa-totp:${owner}`, backup: `2fa-backup:${owner}`, all: `2fa:${owner}` };
}

type FactorState = { hasFactor: boolean; isAssured: boolean; requiredFrom: string | null; at: Date };

/** The missing assurance of a session: the factor of its account, or one that its tenant requires. */
export function missingAssurance(state: FactorState): 'second_factor' | 'enrolment' | undefined {
  const { hasFactor, isAssured, requiredFrom, at } = state;
  if (hasFactor) return isAssured ? undefined : 'second_factor';
  const isRequired = requiredFrom !== null && Date.parse(requiredFrom) <= at.getTime();
  return isRequired ? 'enrolment' : undefined;
}
