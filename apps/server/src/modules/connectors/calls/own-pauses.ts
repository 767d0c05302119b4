import { LRUCache } from 'lru-cache';

import { perDatabase } from '#core/data/db/per-database';
import type { Services } from '#core/platform/services';
import type { ConnectorRow } from '#modules/connectors/connectors.queries';
import type { Outcome } from '#modules/connectors/health/health.rules';

type Whose = { tenantId: string; row: ConnectorRow };
type Clock = Pick<Services, 'database' | 'now'>;

/** The oldest entries are evicted; their providers then send Retry-After again. */
const maxKept = 10_000;

/** Kept in this process only: Retry-After for a tenant's credentials does not apply to the shared connector. */
const kept = perDatabase(() => new LRUCache<string, string>({ max: maxKept }));

/** End of the pause for the tenant's own credentials; undefined without a pause. */
export function ownPauseUntil({ database, now }: Clock, whose: Whose): string | undefined {
  const until = kept(database).get(keyOf(whose));
  return until !== undefined && Date.parse(until) > now().getTime() ? until : undefined;
}

export function noteOwnPause(services: Clock, whose: Whose, outcome: Outcome): void {
  if (outcome.kind !== 'rate_limited') return;
  const until = new Date(services.now().getTime() + outcome.retryAfterSeconds * 1000).toISOString();
  // A longer pause from an earlier answer still applies.
  if ((ownPauseUntil(services, whose) ?? '') >= until) return;
  kept(services.database).set(keyOf(whose), until);
}

/** A changed connector starts without a pause. */
function keyOf({ tenantId, row }: Whose): string {
  return `${tenantId} ${row.id} ${row.updated_at}`;
}
