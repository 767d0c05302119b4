import { setTimeout as sleep } from 'node:timers/promises';

import { auditEvent } from '#core/audit/audit.queries';
import { announceRevocation } from '#core/access/revocation';
import type { RequestFacts } from '#core/access/principal';
import { newSecret } from '#core/crypto/secrets';
import { enterTenant } from '#core/db/database';
import type { Services } from '#core/services';
import { RefreshRefused } from '#modules/auth/auth.errors';
import { isReplay, presentRefreshToken, refreshTokenHash } from '#modules/auth/auth.rules';
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

export type RefreshedTokens = { accessToken: string; refreshToken: string; expiresIn: number };

/**
 * Exchanges a refresh token for a new pair (RFC 9700 section 4.14.2): strictly single use.
 * A replay ends the session; a parallel use of the same token is merely refused.
 * @throws RefreshRefused
 */
export async function refresh(services: Services, token: string, request: RequestFacts): Promise<RefreshedTokens> {
  const hash = refreshTokenHash(token);
  if (hash === undefined) throw RefreshRefused();
  const successor = presentRefreshToken(newSecret());
  const rotated = await rotate(services, hash, refreshTokenHash(successor)!);
  if (rotated === undefined) {
    await punishReplay(services, hash, request);
    throw RefreshRefused();
  }
  // What arrives from here on has seen the answer, or could have: it is a replay.
  const settledAt = services.now();
  await services.database.credential().slow.all(settleRefreshToken({ hash, now: settledAt.toISOString() }));
  const since = performance.now();
  // Not longer than a few milliseconds, should the clock be set back meanwhile.
  while (services.now().getTime() <= settledAt.getTime() && performance.now() - since < 5) await sleep(1);
  return { refreshToken: successor, ...(await services.tokens.issue(rotated)) };
}

async function rotate(services: Services, hash: Buffer, successorHash: Buffer) {
  const now = services.now().toISOString();
  return services.database.credential().transaction(async (tx) => {
    const used = await tx.first(useRefreshToken({ hash, now }));
    if (used === undefined) return undefined;
    const { tenant_id: tenantId, session_id: sessionId } = used;
    const session = await tx.first(extendSession({ tenantId, sessionId, now }));
    if (session === undefined) throw RefreshRefused();
    await tx.all(enterTenant(tenantId));
    const row = { tenantId, sessionId, now };
    const owner = (await tx.first(findPrincipal(row))) ?? (await tx.first(findAppAccountPrincipal(row)));
    if (owner === undefined) throw RefreshRefused();
    await tx.all(
      insertRefreshToken({ hash: successorHash, tenantId, sessionId, at: now, expiresAt: session.expires_at }),
    );
    return { accountId: session.account_id, tenantId, sessionId, userId: session.user_id };
  });
}

async function punishReplay(services: Services, hash: Buffer, request: RequestFacts): Promise<void> {
  const token = await services.database.credential().first(findRefreshToken({ hash }));
  if (token === undefined) return;
  if (!isReplay({ settledAt: token.settled_at }, request.receivedAt, services.settings.refreshGraceSeconds * 1000))
    return;
  const { tenant_id: tenantId, session_id: sessionId } = token;
  const at = services.now().toISOString();
  const userId = await services.database.credential(tenantId).transaction(async (tx) => {
    const ended = await tx.first(endSessionById({ tenantId, sessionId, at }));
    if (ended === undefined) return undefined;
    const event = { action: 'auth.refresh_replayed', resourceType: 'session', resourceId: sessionId };
    const { user_id: id } = ended;
    const who = ended.is_app_account ? appAccountActor(tenantId, id) : { tenantId, userId: id };
    await tx.all(auditEvent({ ...who, request }, at, event));
    await tx.all(announceRevocation(`session:${sessionId}`));
    return id;
  });
  services.principals.forget(`session:${sessionId}`);
  if (userId !== undefined)
    services.log.warn({ requestId: request.id, tenantId, userId }, 'refresh token replayed, session ended');
}
