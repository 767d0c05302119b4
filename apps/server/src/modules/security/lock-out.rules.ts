import { WouldLockOut } from '#modules/security/security.errors';

/** What a rule that is in effect says about an address, and until when. */
export type Verdict = { action: 'allow' | 'block'; expires_at: string | null };

/** From when until when an address is refused, in ms; without end where that is Infinity. */
export type Refusal = { from: number; until: number };

/**
 * What is allowed is never refused, and what is blocked only while blocking is on; so an address is refused as soon as a block
 * outlasts everything that allows it.
 */
export function refusalBy(
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

/** @throws WouldLockOut where an address would be refused that was not, or sooner, or for longer */
export function assertNoWorse(before: Refusal | undefined, after: Refusal | undefined): void {
  if (after === undefined) return;
  if (before === undefined || after.from < before.from || after.until > before.until) throw WouldLockOut();
}
