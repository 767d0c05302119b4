import { newId } from '#core/base/crypto/ids';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { lockConnector, type ConnectorRow } from '#modules/connectors/connectors.queries';
import {
  claimProbe,
  endProbe,
  insertConnectorEvent,
  touchHealth,
  updateHealth,
} from '#modules/connectors/health/health.queries';
import {
  isHealthy,
  hasRecentSuccess,
  moveOf,
  nextHealth,
  quietSince,
  type Health,
  type Outcome,
} from '#modules/connectors/health/health.rules';
import { heartbeatsOf } from '#modules/connectors/health/heartbeats';

/** Lease of a probe: the maximum duration of an attempt, so that a crash does not block it longer. */
const leaseMs = 30_000;
/** Minimum time between attempts of the last resort. */
export const lastResortMs = 5000;

type Found = { outcome: Outcome; at: Date; isCheck: boolean };

/**
 * Records the outcome of a call or health check with the connector's credentials. The row lock makes every concurrent outcome
 * count. It runs as the tenant of the connector, which may be the system tenant.
 * @returns the new health state; undefined if the connector was deleted or changed
 */
export async function noteOutcome(
  { database }: Pick<Services, 'database'>,
  row: ConnectorRow,
  found: Found,
): Promise<Health | undefined> {
  const heartbeats = heartbeatsOf(database);
  const { outcome, at, isCheck } = found;
  if (outcome.kind === 'refused' && !isCheck) return row;
  if (outcome.kind !== 'success') {
    heartbeats.noteFailure(row.id);
    // Again after the write: a success may have been recorded right before the failure.
    return write(database, row, found).finally(() => heartbeats.noteFailure(row.id));
  }
  if (isCheck) return write(database, row, found);
  if (isHealthy(row) && heartbeats.isFresh(row.id, at)) return row;
  const watch = heartbeats.watch(row.id);
  const touched = isHealthy(row) ? await touch(database, row, { latencyMs: outcome.latencyMs, at }) : undefined;
  const next = touched ?? (await write(database, row, found));
  const { last_success: last = null } = next ?? {};
  if (last !== null) watch.sawWell(new Date(last));
  return next;
}

/** One statement for another success of a healthy connector; undefined if it is not healthy, or a success is recent. */
async function touch(
  database: Services['database'],
  row: ConnectorRow,
  { latencyMs, at }: { latencyMs: number; at: Date },
): Promise<Health | undefined> {
  const { tenant_id: tenantId, id } = row;
  const before = quietSince(at).toISOString();
  const query = touchHealth({ tenantId, id, at: at.toISOString(), before, latencyMs });
  const touched = await database.tenant(tenantId).interactive.first(query);
  return touched === undefined ? undefined : { ...row, last_success: at.toISOString() };
}

function write(
  database: Services['database'],
  row: ConnectorRow,
  { outcome, at, isCheck }: Found,
): Promise<Health | undefined> {
  const { tenant_id: tenantId, id } = row;
  return database.tenant(tenantId).transaction(async (tx) => {
    const stored = await tx.first(lockConnector({ tenantId, id }));
    if (stored === undefined || !isSame(stored, row)) return undefined;
    if (outcome.kind === 'success' && !isCheck && hasRecentSuccess(stored, at)) return stored;
    const next = nextHealth(stored, outcome, at);
    await tx.all(updateHealth({ ...next, tenantId, id, checkedAt: isCheck ? at.toISOString() : null }));
    await noteMove(tx, stored, next, at);
    return next;
  });
}

/** Keeps what a change of status was, where there was one. */
export async function noteMove(
  tx: Transaction,
  row: ConnectorRow,
  next: Pick<Health, 'status' | 'auto_disabled' | 'error_message'>,
  at: Date,
): Promise<void> {
  const move = moveOf(row, next);
  if (move === undefined) return;
  await tx.all(
    insertConnectorEvent({
      tenant_id: row.tenant_id,
      id: newId(),
      connector_id: row.id,
      provider: row.api_key,
      from_status: row.status,
      to_status: next.status,
      ...move,
      occurred_at: at.toISOString(),
    }),
  );
}

type Clock = Pick<Services, 'database' | 'now'>;

/** Whether the caller is the one that may try if the connector has recovered, now that its pause is over. */
export function mayProbe(services: Clock, row: ConnectorRow): Promise<boolean> {
  return claim(services, row, services.now().toISOString());
}

/** Whether the caller may make the last-resort attempt. */
export function mayTryEarly(services: Clock, row: ConnectorRow): Promise<boolean> {
  return claim(services, row, 'infinity');
}

async function claim({ database, now }: Clock, row: ConnectorRow, pausedUntil: string): Promise<boolean> {
  const { tenant_id: tenantId, id } = row;
  const query = claimProbe({ tenantId, id, now: now().toISOString(), leaseMs, pausedUntil });
  return (await database.tenant(tenantId).interactive.first(query)) !== undefined;
}

/** The try is over, and the next one need not wait as long as for one that was never ended. */
export async function finishProbe({ database, now }: Clock, { tenant_id: tenantId, id }: ConnectorRow): Promise<void> {
  await database
    .tenant(tenantId)
    .interactive.all(endProbe({ tenantId, id, now: now().toISOString(), leaseMs: lastResortMs }));
}

/** What another address or other credentials did says nothing of these. */
function isSame(stored: ConnectorRow, called: ConnectorRow): boolean {
  return stored.api_base_url === called.api_base_url && stored.auth_config === called.auth_config;
}
