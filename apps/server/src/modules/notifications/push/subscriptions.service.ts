import type { Actor, Person } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { sha256 } from '#core/base/crypto/secrets';
import { auditParams } from '#core/data/audit/audit.queries';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import type { PushSubscriptionRow } from '#modules/notifications/notifications.tables';
import { PersonNotFound } from '#modules/notifications/preferences/preferences.errors';
import { sharePerson } from '#modules/notifications/preferences/preferences.queries';
import { findOrCreatePushKeys } from '#modules/notifications/push/push-keys';
import {
  EndpointNotAllowed,
  SubscriptionNotFound,
  SubscriptionUnusable,
} from '#modules/notifications/push/push.errors';
import {
  deleteOfOthers,
  deleteSubscription,
  deleteSubscriptionsOf,
  deleteSurplus,
  findByEndpoint,
  insertSubscription,
  listSubscriptions,
  lockSubscriptions,
  renewSubscription,
} from '#modules/notifications/push/push.queries';
import type { SubscribePushBody } from '#modules/notifications/push/push.schemas';
import { isUsable, type Browser } from '#modules/notifications/push/web-push';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'now' | 'outbound'>;

/** A browser belongs to the home tenant of the user, also while the user acts for another tenant. */
type Scope = { services: Dependencies; actor: Actor<Person> };

/** A new subscription replaces the least recently renewed one, because browsers do not report disuse. */
const maxPerUser = 10;

export async function getPushKey(services: Dependencies) {
  const { publicKey } = await findOrCreatePushKeys(services);
  return { data: { publicKey } };
}

export async function listOwnSubscriptions({ services, actor }: Scope) {
  const whose = { tenantId: actor.homeTenantId, userId: actor.userId };
  const now = services.now().toISOString();
  const rows = await services.database.tenant(whose.tenantId).all(listSubscriptions({ ...whose, now }));
  return { data: rows.map(presentSubscription) };
}

/**
 * Subscribes a browser. Users can share a browser: the latest user of the tenant owns the subscription, and the same user renews
 * its keys.
 * @throws EndpointNotAllowed, SubscriptionUnusable, PersonNotFound if the user is deleted concurrently
 */
export async function subscribe(scope: Scope, body: SubscribePushBody) {
  const { services, actor } = scope;
  if (!services.outbound.canTarget(body.endpoint)) throw EndpointNotAllowed();
  if (!isUsable(body)) throw SubscriptionUnusable();
  const { homeTenantId: tenantId, userId } = actor;
  const endpoint = { tenantId, userId, endpointHash: sha256(body.endpoint) };
  const row = await services.database.tenant(tenantId).transaction(async (tx) => {
    if ((await tx.first(sharePerson({ tenantId, id: userId }))) === undefined) throw PersonNotFound();
    await tx.all(lockSubscriptions({ tenantId }));
    await tx.all(deleteOfOthers(endpoint));
    const known = await tx.first(findByEndpoint(endpoint));
    if (known === undefined) return create(tx, scope, toRow(scope, newId(), body));
    return tx.first(renewSubscription(toRow(scope, known.id, body)));
  });
  return { data: presentSubscription(row!) };
}

async function create(tx: Transaction, { services, actor }: Scope, row: PushSubscriptionRow) {
  const { homeTenantId: tenantId, userId } = actor;
  const now = row.created_at;
  await tx.all(deleteSurplus({ tenantId, userId, keep: maxPerUser - 1, now }));
  const audit = auditParams({ ...actor, tenantId }, services.now().toISOString(), { origin: row.origin });
  return tx.first(insertSubscription({ ...audit, ...row }));
}

/** @throws SubscriptionNotFound */
export async function unsubscribe({ services, actor }: Scope, id: string): Promise<void> {
  const { homeTenantId: tenantId, userId } = actor;
  const audit = auditParams({ ...actor, tenantId }, services.now().toISOString());
  const deleted = await services.database
    .tenant(tenantId)
    .interactive.first(deleteSubscription({ ...audit, tenantId, userId, id }));
  if (deleted === undefined) throw SubscriptionNotFound();
}

/** Part of the deletion of a user. */
export async function removeSubscriptionsOf(tx: Transaction, tenantId: string, userId: string): Promise<void> {
  await tx.all(deleteSubscriptionsOf({ tenantId, userId }));
}

/** @throws Error if it was modified or moved to another row */
export function openBrowser(services: Pick<Services, 'encryption'>, row: PushSubscriptionRow): Browser {
  return JSON.parse(services.encryption.decrypt(row.sealed, contextOf(row.id))) as Browser;
}

function toRow({ services, actor }: Scope, id: string, { endpoint, keys, expirationTime }: SubscribePushBody) {
  const browser: Browser = { endpoint, keys };
  const now = services.now().toISOString();
  return {
    tenant_id: actor.homeTenantId,
    id,
    user_id: actor.userId,
    endpoint_hash: sha256(endpoint),
    origin: new URL(endpoint).origin,
    sealed: services.encryption.encrypt(JSON.stringify(browser), contextOf(id)),
    user_agent: actor.request.userAgent,
    created_at: now,
    renewed_at: now,
    expires_at: typeof expirationTime === 'number' ? new Date(expirationTime).toISOString() : null,
  };
}

function contextOf(id: string): string {
  return `push_subscriptions.sealed:${id}`;
}

function presentSubscription(row: PushSubscriptionRow) {
  return {
    id: row.id,
    origin: row.origin,
    userAgent: row.user_agent,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
