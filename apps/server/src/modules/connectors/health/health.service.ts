import { newId } from '#core/crypto/ids';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import { lockConnector, type ConnectorRow } from '#modules/connectors/connectors.queries';
import { claimProbe, insertConnectorEvent, touchHealth, updateHealth } from '#modules/connectors/health/health.queries';
import {
  moveOf,
  nextHealth,
  quietSince,
  weightOf,
  type Health,
  type Outcome,
} from '#modules/connectors/health/health.rules';

/** As long as an attempt may take: whoever has claimed a probe and died keeps nobody else from it for longer. */
const probeMs = 30_000;

type Found = { outcome: Outcome; at: Date; isCheck: boolean };

/**
 * Writes down what came of a call or a check with the connector's own credentials. Under lock, so that of many at once each
 * counts; as the tenant that the connector belongs to, which may be the system tenant.
 * @returns how it does now; undefined when it is gone, or is not what was called any more.
 */
export async function noteOutcome(
  { database }: Pick<Services, 'database'>,
  row: ConnectorRow,
  { outcome, at, isCheck }: Found,
): Promise<Health | undefined> {
  const { tenant_id: tenantId, id } = row;
  const db = database.tenant(tenantId);
  const weight = isCheck ? 'news' : weightOf(row, outcome, at);
  if (weight === 'none') return row;
  if (weight === 'sign_of_life' && outcome.kind === 'success') {
    const before = quietSince(at).toISOString();
    await db.slow.all(touchHealth({ tenantId, id, at: at.toISOString(), before, latencyMs: outcome.latencyMs }));
    return row;
  }
  return db.transaction(async (tx) => {
    const stored = await tx.first(lockConnector({ tenantId, id }));
    if (stored === undefined || !isSame(stored, row)) return undefined;
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

/** Whether the caller is the one that may try if the connector has recovered. */
export async function mayProbe(services: Pick<Services, 'database' | 'now'>, row: ConnectorRow): Promise<boolean> {
  const { tenant_id: tenantId, id } = row;
  const now = services.now();
  const until = new Date(now.getTime() + probeMs).toISOString();
  const claim = claimProbe({ tenantId, id, now: now.toISOString(), until });
  return (await services.database.tenant(tenantId).slow.first(claim)) !== undefined;
}

/** What another address or other credentials did says nothing of these. */
function isSame(stored: ConnectorRow, called: ConnectorRow): boolean {
  return stored.api_base_url === called.api_base_url && stored.auth_config === called.auth_config;
}
