import type { Transaction } from '#core/db/scopes';
import type { SecurityConfig } from '#core/limits/config';
import { listVerdicts } from '#modules/security/ip-rules.queries';

/** Whether the rules refuse an address. What is allowed is never refused; and what is blocked only while blocking is on. */
export async function isRefused(
  tx: Transaction,
  { ip_blacklist_enabled: isBlocking }: SecurityConfig,
  { address, now }: { address: string; now: string },
): Promise<boolean> {
  if (!isBlocking) return false;
  const verdicts = await tx.all(listVerdicts({ address, now }));
  const actions = new Set(verdicts.map(({ action }) => action));
  return actions.has('block') && !actions.has('allow');
}
