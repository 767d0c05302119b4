import { sql } from 'kysely';

import { fromNow, isUnleased } from '#core/data/db/lease';
import { queryBuilder, read, write } from '#core/data/db/query';
import { connectorColumns, type ConnectorRow } from '#modules/connectors/connectors.queries';

type ConnectorEventRow = {
  tenant_id: string;
  id: string;
  connector_id: string;
  provider: string;
  from_status: string;
  to_status: string;
  severity: 'info' | 'warning' | 'error';
  reason: string;
  message: string;
  occurred_at: string;
};

const builder = queryBuilder<{ connectors: ConnectorRow; connector_events: ConnectorEventRow }>();

type HealthColumns = Pick<
  ConnectorRow,
  | 'status'
  | 'last_success'
  | 'last_error'
  | 'error_message'
  | 'error_details'
  | 'consecutive_failures'
  | 'auto_disabled'
  | 'ejections'
  | 'retry_at'
  | 'lease_until'
  | 'last_latency_ms'
>;

/** `updated_at` stays, because no user changed the connector. */
export const updateHealth = write<HealthColumns & { tenantId: string; id: string; checkedAt: string | null }, never>(
  (p) =>
    builder
      .updateTable('connectors')
      .set({
        status: p.status,
        last_success: p.last_success,
        last_error: p.last_error,
        error_message: p.error_message,
        error_details: sql`${p.error_details}::jsonb`,
        consecutive_failures: p.consecutive_failures,
        auto_disabled: p.auto_disabled,
        ejections: p.ejections,
        retry_at: p.retry_at,
        lease_until: p.lease_until,
        last_latency_ms: p.last_latency_ms,
        last_health_check: sql`coalesce(${p.checkedAt}::timestamptz, last_health_check)`,
      })
      .where('tenant_id', '=', p.tenantId)
      .where('id', '=', p.id),
);

/** Records another success of a healthy connector; no row if it is already recorded, or the connector is no longer healthy. */
export const touchHealth = write<
  { tenantId: string; id: string; at: string; before: string; latencyMs: number },
  { id: string }
>((p) =>
  builder
    .updateTable('connectors')
    .set({ last_success: p.at, last_latency_ms: p.latencyMs })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('status', '=', 'active')
    .where('consecutive_failures', '=', 0)
    .where('retry_at', 'is', null)
    .where((row) => row.or([row('last_success', 'is', null), row('last_success', '<=', p.before)]))
    .returning('id'),
);

/** The lease of a probe uses the clock of the service, as all times of the health state do. */
const instant = (at: string) => sql<string>`${at}::timestamptz`;

/** Claims the probe of a connector whose pause is over by `pausedUntil`; concurrent callers get no row. */
export const claimProbe = write<
  { tenantId: string; id: string; now: string; leaseMs: number; pausedUntil: string },
  { id: string }
>((p) =>
  builder
    .updateTable('connectors')
    .set({ lease_until: fromNow(p.leaseMs, instant(p.now)) })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where((row) => row.or([row('retry_at', 'is', null), row('retry_at', '<=', p.pausedUntil)]))
    .where(isUnleased('lease_until', instant(p.now)))
    .returning('id'),
);

/** Releases the probe; a success or a longer pause has already done so. */
export const endProbe = write<{ tenantId: string; id: string; now: string; leaseMs: number }, never>((p) =>
  builder
    .updateTable('connectors')
    .set({ lease_until: fromNow(p.leaseMs, instant(p.now)) })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .where('lease_until', '>', fromNow(p.leaseMs, instant(p.now))),
);

export const insertConnectorEvent = write<ConnectorEventRow, never>((p) =>
  builder.insertInto('connector_events').values({
    tenant_id: p.tenant_id,
    id: p.id,
    connector_id: p.connector_id,
    provider: p.provider,
    from_status: p.from_status,
    to_status: p.to_status,
    severity: p.severity,
    reason: p.reason,
    message: p.message,
    occurred_at: p.occurred_at,
  }),
);

const heardAt = sql<string>`coalesce(greatest(last_health_check, last_success, last_error), '-infinity')`;

/**
 * Connectors of all tenants without a call since then that can be called. The longest unchecked of each tenant come first,
 * then the second of each, and so on.
 */
export const listQuietConnectors = read<{ now: string; since: string; perTenant: number; limit: number }, ConnectorRow>(
  (p) =>
    builder
      .selectFrom((db) =>
        db
          .selectFrom('connectors')
          .select(connectorColumns)
          .select(heardAt.as('heard_at'))
          .select(sql<number>`row_number() over (partition by tenant_id order by ${heardAt}, id)`.as('turn'))
          .where('enabled', '=', true)
          .where((row) => row.or([row('retry_at', 'is', null), row('retry_at', '<=', p.now)]))
          .where(sql<boolean>`${heardAt} <= ${p.since}`)
          .as('quiet'),
      )
      .select(connectorColumns)
      .where('turn', '<=', p.perTenant)
      .orderBy('turn')
      .orderBy('heard_at')
      .orderBy('id')
      .limit(p.limit),
);

/** Moves the connector to the end of the order without a check. */
export const passOverCheck = write<{ tenantId: string; id: string; at: string }, never>((p) =>
  builder
    .updateTable('connectors')
    .set({ last_health_check: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id),
);

export const deleteOldConnectorEvents = write<{ before: string; max: number }, { deleted: number }>((p) =>
  builder
    .deleteFrom('connector_events')
    .where(sql<boolean>`(tenant_id, id) in (
      select tenant_id, id from connector_events where occurred_at < ${p.before} limit ${p.max})`)
    .returning(sql<number>`1`.as('deleted')),
);
