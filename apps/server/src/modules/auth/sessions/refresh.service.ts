import { setTimeout as sleep } from 'node:timers/promises';

import type { RequestFacts } from '#core/base/access/principal';
import { keyedHash } from '#core/base/crypto/secrets';
import { auditEvent } from '#core/data/audit/audit.queries';
import { enterTenant } from '#core/data/db/database';
import { announceRevocation } from '#core/data/db/revocation';
import type { Services } from '#core/platform/services';
import { RefreshRefused } from '#modules/auth/auth.errors';
import { classifyReuse, presentRefreshToken, refreshTokenHash } from '#modules/auth/auth.rules';
import {
  findRefreshToken,
  insertRefreshToken,
  settleRefreshToken,
  useRefreshToken,
} from '#modules/auth/sessions/refresh-tokens.queries';
import { appAccountActor } from '#modules/auth/sessions/session-start';
import {
  endSessionById,
  extendSession,
  findAppAccountPrincipal,
  findPrincipal,
} from '#modules/auth/sessions/sessions.queries';

type Dependencies = Pick<
  Services,
  'database' | 'encryption' | 'log' | 'now' | 'principals' | 'securityEvents' | 'settings' | 'tokens'
>;

export type RefreshedTokens = { accessToken: string; refreshToken: string; expiresIn: number };

type Owner = { accountId: string; tenantId: string; sessionId: string; userId: string };
type Token = { hash: Buffer; successorHash: Buffer };

/**
 * Exchanges a refresh token for a new pair (RFC 9700 section 4.14.2). Each token is valid once. While its successor is
 * unused, a replay within the grace period gets the same successor. Any other replay revokes the session.
 * @throws RefreshRefused
 */
export async function refresh(services: Dependencies, token: string, request: RequestFacts): Promise<RefreshedTokens> {
  const hash = refreshTokenHash(token);
  if (hash === undefined) throw RefreshRefused();
  const successor = successorOf(services, token);
  const pair = { hash, successorHash: refreshTokenHash(successor)! };
  const owner = (await rotate(services, pair)) ?? (await repeat(services, pair, request));
  if (owner === undefined) throw RefreshRefused();
  return { refreshToken: successor, ...(await services.tokens.issue(owner)) };
}

/** Derived, so that every process computes the same successor and none has to store it. */
function successorOf({ encryption }: Dependencies, token: string): string {
  return presentRefreshToken(keyedHash(encryption.keyFor('refresh-successors'), token));
}

/** @returns undefined if the token is used or unknown */
async function rotate(services: Dependencies, { hash, successorHash }: Token): Promise<Owner | undefined> {
  const now = services.now().toISOString();
  const owner = await services.database.credential().transaction(async (tx) => {
    const used = await tx.first(useRefreshToken({ hash, now }));
    if (used === undefined) return undefined;
    const { tenant_id: tenantId, session_id: sessionId } = used;
    const session = await tx.first(extendSession({ tenantId, sessionId, now }));
    if (session === undefined) throw RefreshRefused();
    await tx.all(enterTenant(tenantId));
    const row = { tenantId, sessionId, now };
    const alive = (await tx.first(findPrincipal(row))) ?? (await tx.first(findAppAccountPrincipal(row)));
    if (alive === undefined) throw RefreshRefused();
    await tx.all(
      insertRefreshToken({ hash: successorHash, tenantId, sessionId, at: now, expiresAt: session.expires_at }),
    );
    return { accountId: session.account_id, tenantId, sessionId, userId: session.user_id };
  });
  if (owner !== undefined) await settle(services, hash);
  return owner;
}

/** Maximum wait for requests that other processes have not read yet. */
const strictSettleMs = 250;
const maxDrainMs = 4000;

/** Records that the answer is about to leave. A later replay was sent after the client could have it. */
async function settle(services: Dependencies, hash: Buffer): Promise<void> {
  if (services.settings.refreshGraceSeconds === 0) await drain();
  const settledAt = services.now();
  await services.database.credential().interactive.all(settleRefreshToken({ hash, now: settledAt.toISOString() }));
  const since = performance.now();
  // Bounded, in case the clock is set back meanwhile.
  while (services.now().getTime() <= settledAt.getTime() && performance.now() - since < 5) await sleep(1);
}

/** Waits until this process has read all requests that had arrived: only an event loop without input is idle. */
async function drain(): Promise<void> {
  const since = performance.now();
  const idleBefore = performance.nodeTiming.idleTime;
  await sleep(strictSettleMs);
  while (performance.nodeTiming.idleTime === idleBefore && performance.now() - since < maxDrainMs) await sleep(1);
}

/** @returns the owner whose tokens are returned again; undefined for a refusal, which may also revoke the session */
async function repeat(services: Dependencies, pair: Token, request: RequestFacts): Promise<Owner | undefined> {
  const [[token], [successor]] = await services.database
    .credential()
    .batch([findRefreshToken({ hash: pair.hash }), findRefreshToken({ hash: pair.successorHash })]);
  if (token === undefined || token.used_at === null) return undefined;
  const graceMs = services.settings.refreshGraceSeconds * 1000;
  const verdict = classifyReuse({ token, successor, receivedAt: request.receivedAt, graceMs });
  if (verdict === 'repeat') return findOwner(services, token);
  if (verdict === 'replay') await punishReplay(services, token, request);
  return undefined;
}

/** The owner of a session while both are active. */
async function findOwner(services: Dependencies, token: { tenant_id: string; session_id: string }) {
  const { tenant_id: tenantId, session_id: sessionId } = token;
  const row = { tenantId, sessionId, now: services.now().toISOString() };
  const [[person], [appAccount]] = await services.database
    .credential(tenantId)
    .batch([findPrincipal(row), findAppAccountPrincipal(row)]);
  if (person !== undefined) return { accountId: person.account_id, tenantId, sessionId, userId: person.user_id };
  return appAccount && { accountId: appAccount.id, tenantId, sessionId, userId: appAccount.id };
}

async function punishReplay(
  services: Dependencies,
  token: { tenant_id: string; session_id: string },
  request: RequestFacts,
): Promise<void> {
  const { tenant_id: tenantId, session_id: sessionId } = token;
  const at = services.now().toISOString();
  const owner = await services.database.credential(tenantId).transaction(async (tx) => {
    const ended = await tx.first(endSessionById({ tenantId, sessionId, at }));
    if (ended === undefined) return undefined;
    const event = { action: 'auth.refresh_replayed', resourceType: 'session', resourceId: sessionId };
    const { user_id: id } = ended;
    const actor = ended.is_app_account ? appAccountActor(tenantId, id) : { tenantId, userId: id };
    await tx.all(auditEvent({ ...actor, request }, at, event));
    await tx.all(announceRevocation(`session:${sessionId}`));
    return actor;
  });
  services.principals.forget(`session:${sessionId}`);
  if (owner === undefined) return;
  const { userId } = owner;
  services.log.warn({ requestId: request.id, tenantId, userId, sessionId }, 'refresh token replayed, session ended');
  const details = { reason: 'REFRESH_TOKEN_REPLAYED', sessionId, ip: request.ip, requestId: request.id };
  services.securityEvents.record({ type: 'permission_denied', tenantId, userId, details });
}
