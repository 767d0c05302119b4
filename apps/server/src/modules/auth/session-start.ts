import { auditEvent } from '#core/audit/audit.queries';
import { announceRevocation } from '#core/access/revocation';
import type { RequestFacts } from '#core/access/principal';
import { systemTenantId } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import { newSecret } from '#core/crypto/secrets';
import type { Query } from '#core/db/query';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
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

/** Who begins a session, and what has to be true for it at the moment it begins. */
export type SessionRequest = {
  accountId: string;
  tenantId: string;
  remembered: boolean;
  request: RequestFacts;
  /** Each has to find its row in the session's own transaction: what was proven a moment ago may be void by now. */
  proof: readonly Query<unknown>[];
  also: readonly Query<never>[];
};

/**
 * Starts a session of an account in one tenant, in one transaction with its proof and whatever `also` names.
 * @returns undefined when the proof does not hold or the account has no active user in an active tenant there.
 */
export async function startSession(services: Services, who: SessionRequest): Promise<StartedSession | undefined> {
  const { accountId, tenantId } = who;
  const sessionId = newId();
  const refreshToken = presentRefreshToken(newSecret());
  const db = services.database.credential(tenantId);
  const profile = await db.first(findSessionProfile({ tenantId, accountId }));
  if (profile === undefined) return undefined;
  const userId = profile.user_id;
  const ended = await db.transaction((tx) =>
    insertStarted(tx, services.now(), { ...who, sessionId, userId, refreshToken }),
  );
  if (ended === undefined) return undefined;
  forgetSessions(services, ended);
  const token = await services.tokens.issue({ accountId, tenantId, sessionId, userId });
  return { user: presentSessionUser(profile), refreshToken, ...token };
}

type NewSession = SessionRequest & { sessionId: string; userId: string; refreshToken: string };

/** The sessions that had to make room; undefined when the new one could not begin. */
async function insertStarted(
  tx: Transaction,
  now: Date,
  session: NewSession,
): Promise<readonly { id: string }[] | undefined> {
  const { accountId, tenantId, sessionId, userId, remembered, request } = session;
  const at = now.toISOString();
  const life = sessionLifetime(remembered);
  const expiresAt = new Date(now.getTime() + life.absoluteMs).toISOString();
  const idleExpiresAt = new Date(now.getTime() + life.idleMs).toISOString();
  const { ip, userAgent } = request;
  const row = { tenantId, sessionId, accountId, remembered, ip, userAgent, at, idleExpiresAt, expiresAt };
  for (const query of [...session.proof, touchLogin({ tenantId, accountId, at }), insertSession(row)]) {
    if ((await tx.first(query)) === undefined) return undefined;
  }
  const event = { action: 'auth.login', resourceType: 'session', resourceId: sessionId };
  const [ended] = await Promise.all([
    tx.all(endOldestSessions({ tenantId, accountId, keep: maxSessionsPerUser, at })),
    tx.all(insertRefreshToken({ hash: refreshTokenHash(session.refreshToken)!, tenantId, sessionId, at, expiresAt })),
    tx.all(auditEvent({ tenantId, userId, request }, at, event)),
    ...session.also.map((query) => tx.all(query)),
  ]);
  await announceSessions(tx, ended);
  return ended;
}

/** Tells the other processes of ended sessions, when and only when the transaction commits. */
export async function announceSessions(tx: Transaction, ended: readonly { id: string }[]): Promise<void> {
  await Promise.all(ended.map((session) => tx.all(announceRevocation(`session:${session.id}`))));
}

/** Makes ended sessions end here and now; call it after the commit. */
export function forgetSessions(services: Services, ended: readonly { id: string }[]): void {
  for (const session of ended) services.principals.forget(`session:${session.id}`);
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
