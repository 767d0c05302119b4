import { SelfLockout } from '#modules/security/security.errors';

/** Action of a rule in force for an address, and its expiry. */
export type Verdict = { action: 'allow' | 'block'; expires_at: string | null };

/** Start and end of a block in milliseconds; Infinity for no end. */
export type Refusal = { from: number; until: number };

/**
 * An allowed address is never refused, and a blocked one only while blocking is enabled. So an address is refused when
 * a block outlasts every rule that allows it.
 */
export function refusalPeriod(
  verdicts: readonly Verdict[],
  { ip_blacklist_enabled: isOn }: { ip_blacklist_enabled: boolean },
  now: Date,
): Refusal | undefined {
  const lastEnd = (action: Verdict['action']) => {
    const ends = verdicts.filter((verdict) => verdict.action === action).map(({ expires_at: end }) => end);
    return Math.max(now.getTime(), ...ends.map((end) => (end === null ? Infinity : Date.parse(end))));
  };
  const [from, until] = [lastEnd('allow'), lastEnd('block')];
  return isOn && until > from ? { from, until } : undefined;
}

/** @throws SelfLockout if an address would newly be refused, or earlier, or for longer */
export function assertNoSelfLockout(before: Refusal | undefined, after: Refusal | undefined): void {
  if (after === undefined) return;
  if (before === undefined || after.from < before.from || after.until > before.until) throw SelfLockout();
}
