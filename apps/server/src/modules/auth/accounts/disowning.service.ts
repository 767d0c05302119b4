import type { RequestFacts } from '#core/base/access/principal';
import type { Subject } from '#core/base/access/principal-cache';
import { auditEvent } from '#core/data/audit/audit.queries';
import { enterTenant } from '#core/data/db/database';
import type { Query } from '#core/data/db/query';
import { announceRevocation } from '#core/data/db/revocation';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import {
  findOneTimeToken,
  listMemberships,
  lockAccountState,
  useOneTimeToken,
  type AccountState,
} from '#modules/auth/accounts/accounts.queries';
import {
  deleteKeyNames,
  deleteKeysOf,
  deleteMembership,
  deleteUserOfAccount,
  freeAccount,
  revokeAppAccountsOf,
} from '#modules/auth/accounts/disowning.queries';
import { deleteGroupMemberships } from '#modules/auth/accounts/invitations.queries';
import { clearAccount } from '#modules/auth/accounts/take-over';
import { OneTimeTokenRefused } from '#modules/auth/auth.errors';
import { oneTimeTokenHash } from '#modules/auth/auth.rules';
import { forgetFailedLogins } from '#modules/auth/login/rate-limits';
import { listOrigins } from '#modules/auth/sessions/known-logins.queries';
import { endAccountSessions } from '#modules/auth/sessions/sessions.queries';
import { cancelVoidMails, newOneTimeToken } from '#modules/auth/tokens/one-time-tokens';

type Dependencies = Pick<
  Services,
  'database' | 'encryption' | 'log' | 'mail' | 'now' | 'principals' | 'queue' | 'settings'
>;

/** Records of a former user, except credentials; the `users` module removes them. */
export const leftoversWork = 'users-leftovers';
export type Leftovers = { tenantId: string; userId: string };

const purpose = 'account_disowning';
const disowningMs = 48 * 60 * 60_000;
/** Longer than the transaction that removes the user can take. */
const leftoversAfterMs = 60_000;

/**
 * For a mail to an unverified address: the statement behind a link with which its owner disowns the account, and the
 * text of the mail. A mail whose id is in the payload is sent while this link is valid. Undefined if the account has no
 * tenant, because such an account starts without old data anyway.
 */
export async function offerDisowning(
  services: Dependencies,
  tx: Transaction,
  account: AccountState,
  payload: { mailId?: string } = {},
): Promise<{ insert: Query<never>; text: string } | undefined> {
  const accountId = account.id;
  if (account.email_verified_at !== null) return undefined;
  if ((await tx.all(listMemberships({ accountId }))).length === 0) return undefined;
  const { secret, insert } = newOneTimeToken(services, { purpose, accountId, payload, lifetimeMs: disowningMs });
  const link = `${services.settings.publicUrl}/disown-account#token=${secret}`;
  const text = `\nAn account with this address exists, but its owner has not confirmed the address.\nIf this account is not yours, free your address within two days:\n${link}\n\nThis closes the account: its password, sessions and second factors. It does not give you access to its tenants.\n`;
  return { insert, text };
}

/**
 * Closes an account by the token of a mail, while its address is unverified: the address is free, and the account loses
 * all tenants. The tenants remain, without this user and without the keys and app accounts that it created.
 * @throws OneTimeTokenRefused
 */
export async function disownAccount(services: Dependencies, token: string, request: RequestFacts): Promise<void> {
  const hash = oneTimeTokenHash(token);
  if (hash === undefined) throw OneTimeTokenRefused();
  const at = services.now().toISOString();
  const db = services.database.credential();
  const found = await db.first(findOneTimeToken({ hash, purposes: [purpose], now: at }));
  if (found === undefined) throw OneTimeTokenRefused();
  const { account_id: accountId } = found;
  await sendLeftovers(services, await db.all(listMemberships({ accountId })));
  const ended = await db.transaction(async (tx) => {
    const account = await tx.first(lockAccountState({ accountId }));
    const used = await tx.first(useOneTimeToken({ hash, purpose, now: at }));
    if (account === undefined || used === undefined || account.email_verified_at !== null) throw OneTimeTokenRefused();
    const origins = await tx.all(listOrigins({ accountId }));
    await clearAccount(tx, accountId, at);
    await tx.all(freeAccount({ accountId, at }));
    for (const query of forgetFailedLogins(services, account.email, origins)) await tx.all(query);
    return leaveTenants(tx, accountId, { request, at });
  });
  for (const subject of ended) services.principals.forget(subject);
  await cancelVoidMails(services, accountId);
  services.log.warn({ requestId: request.id, ip: request.ip }, 'an account was disowned by the owner of its address');
}

/** Enqueued before the transaction, so that none is lost; if the account remains, the task finds nothing to remove. */
async function sendLeftovers(
  { queue, now }: Dependencies,
  memberships: readonly { tenant_id: string; user_id: string }[],
): Promise<void> {
  const startAfter = new Date(now().getTime() + leftoversAfterMs);
  const pieces = memberships.map(({ tenant_id: tenantId, user_id: userId }) => {
    const data: Leftovers = { tenantId, userId };
    return { data, key: `${tenantId}/${userId}`, startAfter };
  });
  await queue.sendMany(leftoversWork, pieces);
}

type Occasion = { request: RequestFacts; at: string };

/** Returns the principals to forget after the commit. The audit rows come last, as everywhere. */
async function leaveTenants(tx: Transaction, accountId: string, { request, at }: Occasion): Promise<Subject[]> {
  const memberships = await tx.all(listMemberships({ accountId }));
  const ended: Subject[] = [`account:${accountId}`];
  const events: { tenantId: string; userId: string; details: Record<string, unknown> }[] = [];
  for (const { tenant_id: tenantId, user_id: userId } of memberships) {
    await tx.all(enterTenant(tenantId));
    const { apiKeys, appAccounts } = await leave(tx, { tenantId, userId, accountId, at });
    ended.push(
      ...apiKeys.map((id) => `api_key:${id}` as const),
      ...appAccounts.map((id) => `app_account:${id}` as const),
    );
    events.push({ tenantId, userId, details: { apiKeys, appAccounts } });
  }
  for (const { tenantId, userId: resourceId, details } of events) {
    await tx.all(enterTenant(tenantId));
    const event = { action: 'auth.account_disowned', resourceType: 'user', resourceId, details };
    await tx.all(auditEvent({ tenantId, userId: null, request }, at, event));
  }
  for (const subject of ended) await tx.all(announceRevocation(subject));
  return ended;
}

async function leave(
  tx: Transaction,
  { tenantId, userId, accountId, at }: { tenantId: string; userId: string; accountId: string; at: string },
): Promise<{ apiKeys: string[]; appAccounts: string[] }> {
  await tx.all(deleteUserOfAccount({ tenantId, userId, at }));
  await tx.all(deleteMembership({ tenantId, userId }));
  await tx.all(deleteGroupMemberships({ tenantId, userId }));
  const keys = await tx.all(deleteKeysOf({ tenantId, userId, at }));
  await tx.all(deleteKeyNames({ tenantId, keyUuids: keys.map(({ key_uuid: keyUuid }) => keyUuid) }));
  const appAccounts = await tx.all(revokeAppAccountsOf({ tenantId, userId, at }));
  for (const id of [accountId, ...appAccounts.map((row) => row.id)])
    await tx.all(endAccountSessions({ tenantId, accountId: id, exceptSessionId: null, at }));
  return { apiKeys: keys.map(({ id }) => id), appAccounts: appAccounts.map(({ id }) => id) };
}
