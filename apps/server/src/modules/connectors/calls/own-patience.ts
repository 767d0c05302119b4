import { LRUCache } from 'lru-cache';

import { perDatabase } from '#core/db/per-database';
import type { Services } from '#core/services';
import type { ConnectorRow } from '#modules/connectors/connectors.queries';
import type { Outcome } from '#modules/connectors/health/health.rules';

type Whose = { tenantId: string; row: ConnectorRow };
type Clock = Pick<Services, 'database' | 'now'>;

/** Whoever was asked for patience longest ago is forgotten, and asked for it again. */
const mostKept = 10_000;

/** In this process: what a provider asks of one tenant is no news of the connector that all share. */
const kept = perDatabase(() => new LRUCache<string, string>({ max: mostKept }));

/** Until when the provider is not to be called with the tenant's own credentials; undefined where it may be. */
export function askedToWaitUntil({ database, now }: Clock, whose: Whose): string | undefined {
  const until = kept(database).get(keyOf(whose));
  return until !== undefined && Date.parse(until) > now().getTime() ? until : undefined;
}

export function notePatience(services: Clock, whose: Whose, outcome: Outcome): void {
  if (outcome.kind !== 'rate_limited') return;
  const until = new Date(services.now().getTime() + outcome.patienceSeconds * 1000).toISOString();
  // Whoever asked for more patience before has not taken it back.
  if ((askedToWaitUntil(services, whose) ?? '') >= until) return;
  kept(services.database).set(keyOf(whose), until);
}

/** Of a connector that was changed nobody knows yet what it asks for. */
function keyOf({ tenantId, row }: Whose): string {
  return `${tenantId} ${row.id} ${row.updated_at}`;
}
