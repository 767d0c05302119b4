import { auditEvent } from '#core/audit/audit.queries';
import { announceRevocation } from '#core/access/revocation';
import type { RequestFacts } from '#core/access/principal';
import { systemTenantId } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import { newSecret } from '#core/crypto/secrets';
import type { Query } from '#core/db/query';
import type { Services } from '#core/services';
import { LoginRefused } from '#modules/auth/auth.errors';
import { presentRefreshToken, refreshTokenHash, sessionLifetime } from '#modules/auth/auth.rules';
import {
  endOldestSessions,
  findSessionProfile,
  insertRefreshToken,
  insertSession,
  touchLogin,
  type SessionProfile,
} from '#modules/auth/sessions.queries';

const maxSessionsPerUser = 20;

export type StartedSession = {
  user: ReturnType<typeof presentSessionUser>;
  accessToken: string;
  refreshToken: string;
  expiresIn: number;
};

/**
 * Starts a session of an account in one tenant, in one transaction with whatever `also` names.
 * @throws LoginRefused when the account has no active user there.
 */
export async function startSession(
  services: Services,
  who: { accountId: string; tenantId: string; remembered: boolean; request: RequestFacts; also: Query<never>[] },
): Promise<StartedSession> {
  const { accountId, tenantId, remembered, request } = who;
  const now = services.now();
  const at = now.toISOString();
  const life = sessionLifetime(remembered);
  const sessionId = newId();
  const idleExpiresAt = new Date(now.getTime() + life.idleMs).toISOString();
  const expiresAt = new Date(now.getTime() + life.absoluteMs).toISOString();
  const refreshToken = presentRefreshToken(newSecret());
  const db = services.database.credential(tenantId);

  const profile = await db.first(findSessionProfile({ tenantId, accountId }));
  if (profile === undefined) throw LoginRefused();
  const [started, ended] = await db.slow.flight([
    insertSession({
      tenantId,
      sessionId,
      accountId,
      remembered,
      ip: request.ip,
      userAgent: request.userAgent,
      at,
      idleExpiresAt,
      expiresAt,
    }),
    endOldestSessions({ tenantId, accountId, keep: maxSessionsPerUser, at }),
    insertRefreshToken({ hash: refreshTokenHash(refreshToken)!, tenantId, sessionId, at, expiresAt }),
    touchLogin({ tenantId, accountId, at }),
    auditEvent({ tenantId, userId: profile.user_id, request }, at, {
      action: 'auth.login',
      resourceType: 'session',
      resourceId: sessionId,
    }),
    ...who.also,
  ]);
  if (started.length === 0) throw LoginRefused();
  await forgetSessions(services, ended);
  const token = await services.tokens.issue({ accountId, tenantId, sessionId, userId: profile.user_id });
  return { user: presentSessionUser(profile), refreshToken, ...token };
}

/** Makes ended sessions end here and now, and in every other process. */
export async function forgetSessions(services: Services, ended: readonly { id: string }[]): Promise<void> {
  if (ended.length === 0) return;
  for (const session of ended) services.principals.forget(`session:${session.id}`);
  await services.database.credential().flight(ended.map((session) => announceRevocation(`session:${session.id}`)));
}

/** The specification's "Session user". */
function presentSessionUser(profile: SessionProfile) {
  const permissions = [...new Set(profile.groups.flatMap((group) => group.permissions))];
  return {
    id: profile.user_id,
    email: profile.email,
    displayName: profile.display_name,
    fullName: profile.full_name,
    tenantId: profile.tenant_id,
    tenantName: profile.tenant_name,
    groups: profile.groups.map((group) => group.name),
    groupDetails: profile.groups,
    permissions,
    isSystemAdmin: isSystemAdmin(profile),
    isTenantAdmin: profile.is_tenant_admin,
  };
}

export function isSystemAdmin(user: { tenant_id: string; is_tenant_admin: boolean }): boolean {
  return user.tenant_id === systemTenantId && user.is_tenant_admin;
}
