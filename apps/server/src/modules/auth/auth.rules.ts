import { sha256 } from '#core/crypto/secrets';

const hour = 3_600_000;
const day = 24 * hour;

/** How long a session may be refreshed: idle, and at all (NIST SP 800-63B; longer when the person asked to be remembered). */
export function sessionLifetime(remembered: boolean): { idleMs: number; absoluteMs: number } {
  return remembered ? { idleMs: 14 * day, absoluteMs: 30 * day } : { idleMs: day, absoluteMs: 7 * day };
}

const refreshPrefix = 'rt1_';

export function presentRefreshToken(secret: string): string {
  return refreshPrefix + secret;
}

/** What is stored of a refresh token; undefined when the text cannot be one, without asking the database. */
export function refreshTokenHash(token: string): Buffer | undefined {
  return /^rt1_[A-Za-z0-9_-]{43}$/.test(token) ? sha256(token) : undefined;
}

/** One-time tokens (reset links, tenant selection) have one form; their purpose is in the database. */
export function oneTimeTokenHash(token: string): Buffer | undefined {
  return /^[A-Za-z0-9_-]{43}$/.test(token) ? sha256(token) : undefined;
}

/** Failures allowed within a window. */
export const throttleRules = {
  account: { max: 10, windowMs: 15 * 60_000 },
  address: { max: 100, windowMs: 10 * 60_000 },
  registration: { max: 60, windowMs: 60_000 },
  resetMail: { max: 3, windowMs: 10 * 60_000 },
  verificationMail: { max: 3, windowMs: 10 * 60_000 },
  invitationMail: { max: 3, windowMs: 10 * 60_000 },
  invitationsOfTenant: { max: 200, windowMs: day },
} as const;

export function isLoopback(ip: string): boolean {
  const address = unmapped(ip);
  return address === '::1' || address.startsWith('127.');
}

/** An IPv4 address may come written as IPv6 (RFC 4291 section 2.5.5.2). */
function unmapped(ip: string): string {
  return ip.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
}

/** One budget per IPv4 address and per IPv6 /64, the smallest block that one customer gets. */
export function addressBucket(address: string): string {
  const ip = unmapped(address);
  if (!ip.includes(':')) return ip;
  const [head, tail = ''] = ip.split('::');
  const left = head === '' ? [] : head!.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const groups = ip.includes('::')
    ? [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
    : left;
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}

/** A loser of a refresh race arrived before the winner was answered; whoever comes later replays a used token. */
export function isReplay(token: { settledAt: string | null }, receivedAt: number, graceMs: number): boolean {
  return token.settledAt !== null && receivedAt > Date.parse(token.settledAt) + graceMs;
}

/** The budget that all guesses at somebody's second factors share. */
export function secondFactorBudget(owner: string): string {
  return `2fa:${owner}`;
}

type FactorState = { hasFactor: boolean; isAssured: boolean; requiredFrom: string | null; at: Date };

/** What a session still owes: the factor that its account has, or one that its tenant wants it to have. */
export function secondFactorDebt(state: FactorState): 'second_factor' | 'enrolment' | undefined {
  const { hasFactor, isAssured, requiredFrom, at } = state;
  if (hasFactor) return isAssured ? undefined : 'second_factor';
  const isRequired = requiredFrom !== null && Date.parse(requiredFrom) <= at.getTime();
  return isRequired ? 'enrolment' : undefined;
}
