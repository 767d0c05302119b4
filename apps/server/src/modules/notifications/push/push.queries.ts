import { sql } from 'kysely';

import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, queryBuilder, read, write } from '#core/data/db/query';
import { tenantLock } from '#core/data/db/rows';
import type { NotificationTables, PushSubscriptionRow } from '#modules/notifications/notifications.tables';

const builder = queryBuilder<NotificationTables>();

type Whose = { tenantId: string; userId: string };

/** Newest first. */
export const listSubscriptions = read<Whose & { now: string }, PushSubscriptionRow>((p) =>
  builder
    .selectFrom('push_subscriptions')
    .selectAll()
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.userId)
    .where(sql<boolean>`(expires_at is null or expires_at > ${p.now}::timestamptz)`)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc'),
);

/** Serialises subscriptions in a tenant until the end of the transaction. */
export const lockSubscriptions = tenantLock('push-subscriptions');

export const findByEndpoint = read<Whose & { endpointHash: Buffer }, { id: string }>((p) =>
  builder
    .selectFrom('push_subscriptions')
    .select('id')
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.userId)
    .where('endpoint_hash', '=', p.endpointHash),
);

export const deleteOfOthers = write<Whose & { endpointHash: Buffer }, never>((p) =>
  builder
    .deleteFrom('push_subscriptions')
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '<>', p.userId)
    .where('endpoint_hash', '=', p.endpointHash),
);

/** Deletes expired subscriptions, and all except the most recently renewed ones. */
export const deleteSurplus = write<Whose & { keep: number; now: string }, never>((p) =>
  builder
    .deleteFrom('push_subscriptions')
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.userId)
    .where('id', 'not in', (db) =>
      db
        .selectFrom('push_subscriptions')
        .select('id')
        .where('tenant_id', '=', p.tenantId)
        .where('user_id', '=', p.userId)
        .where(sql<boolean>`(expires_at is null or expires_at > ${p.now}::timestamptz)`)
        .orderBy('renewed_at', 'desc')
        .orderBy('id', 'desc')
        .limit(p.keep),
    ),
);

export const insertSubscription = auditedWrite<PushSubscriptionRow & AuditParams, PushSubscriptionRow>((p) => {
  const insert = builder
    .insertInto('push_subscriptions')
    .values({
      tenant_id: p.tenant_id,
      id: p.id,
      user_id: p.user_id,
      endpoint_hash: p.endpoint_hash,
      origin: p.origin,
      sealed: p.sealed,
      user_agent: p.user_agent,
      created_at: p.created_at,
      renewed_at: p.renewed_at,
      expires_at: p.expires_at,
    })
    .returningAll();
  return withAudit(insert, { action: 'push_subscription.created', resourceType: 'push_subscription' }, p);
});

type Renewed = Pick<PushSubscriptionRow, 'tenant_id' | 'id' | 'sealed' | 'user_agent' | 'renewed_at' | 'expires_at'>;

export const renewSubscription = write<Renewed, PushSubscriptionRow>((p) =>
  builder
    .updateTable('push_subscriptions')
    .set({ sealed: p.sealed, user_agent: p.user_agent, renewed_at: p.renewed_at, expires_at: p.expires_at })
    .where('tenant_id', '=', p.tenant_id)
    .where('id', '=', p.id)
    .returningAll(),
);

export const deleteSubscription = auditedWrite<Whose & { id: string } & AuditParams, { id: string }>((p) => {
  const remove = builder
    .deleteFrom('push_subscriptions')
    .where('tenant_id', '=', p.tenantId)
    .where('user_id', '=', p.userId)
    .where('id', '=', p.id)
    .returning('id');
  return withAudit(remove, { action: 'push_subscription.deleted', resourceType: 'push_subscription' }, p);
});

export const deleteSubscriptionsOf = write<Whose, never>((p) =>
  builder.deleteFrom('push_subscriptions').where('tenant_id', '=', p.tenantId).where('user_id', '=', p.userId),
);

/** Deletes subscriptions that the push service no longer knows, unless they were renewed in the meantime. */
export const deleteGone = write<{ tenantId: string; ids: readonly string[]; sealed: readonly string[] }, never>((p) =>
  builder
    .deleteFrom('push_subscriptions')
    .where('tenant_id', '=', p.tenantId)
    .where(sql<boolean>`id = any(${p.ids}::uuid[])`)
    .where(sql<boolean>`sealed = any(${p.sealed}::text[])`),
);

// ---------------------------------------------------------------- keys of the installation

export type PushKeysRow = NotificationTables['push_keys'];

export const findPushKeys = read<{ name: string }, PushKeysRow>((p) =>
  builder.selectFrom('push_keys').selectAll().where('name', '=', p.name),
);

/** No row if another process was first. */
export const insertPushKeys = write<PushKeysRow, never>((row) =>
  builder
    .insertInto('push_keys')
    .values({
      name: row.name,
      public_key: row.public_key,
      sealed_private_key: row.sealed_private_key,
      created_at: row.created_at,
    })
    .onConflict((conflict) => conflict.doNothing()),
);
