import type { Transaction } from '#core/db/scopes';
import type { SecurityConfig } from '#core/limits/config';
import { listVerdicts } from '#modules/security/ip-rules.queries';

type Asked = { address: string; now: Date };

/**
 * From when on an address is refused by the rules as they are, in ms; Infinity for never. What is allowed is never refused,
 * and what is blocked only while blocking is on; so it is refused as soon as a block outlasts everything that allows it.
 */
export async function refusedFrom(tx: Transaction, config: SecurityConfig, { address, now }: Asked): Promise<number> {
  if (!config.ip_blacklist_enabled) return Infinity;
  const verdicts = await tx.all(listVerdicts({ address, now: now.toISOString() }));
  const lastEnd = (action: 'allow' | 'block') => {
    const ends = verdicts.filter((verdict) => verdict.action === action).map(({ expires_at: end }) => end);
    return Math.max(now.getTime(), ...ends.map((end) => (end === null ? Infinity : Date.parse(end))));
  };
  const allowedUntil = lastEnd('allow');
  return lastEnd('block') > allowedUntil ? allowedUntil : Infinity;
}
