import { auditEvent } from '#core/audit/audit.queries';
import { announceRevocation } from '#core/access/revocation';
import type { RequestFacts } from '#core/access/principal';
import { isSystemAdmin } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import { keyedHash, newSecret } from '#core/crypto/secrets';
import { enterTenant } from '#core/db/database';
import type { Query } from '#core/db/query';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import { presentRefreshToken, refreshTokenHash, sessionLifetime } from '#modules/auth/auth.rules';
import { listMemberships } from '#modules/auth/accounts/accounts.queries';
import { rememberLogin } from '#modules/auth/sessions/known-logins.queries';
import { browserKind, networkOf } from '#modules/auth/sessions/known-logins.rules';
import { insertRefreshToken } from '#modules/auth/sessions/refresh-tokens.queries';
import {
  endOldestSessions,
  findSessionProfile,
  insertAppAccountSession,
  insertSession,
  lockAppAccount,
  touchLogin,
  type SessionProfile,
} from '#modules/auth/sessions/sessions.queries';
import { securityNotice, wakeNotices } from '#modules/notifications/index';

const maxSessionsPerUser = 20;

/** The specification's "Session user". */
type SessionUser = {
  id: string;
  email: string;
  displayName: string;
  fullName: string;
  tenantId: string;
  tenantName: string;
  groups: string[];
  groupDetails: SessionProfile['groups'] | null;
  permissions: string[];
  isSystemAdmin: boolean;
  isTenantAdmin: boolean;
};

export type StartedSession = {
  user: SessionUser;
  accessToken: string;
  refreshToken: string;
  expiresIn: number;
};

/** Who begins a session, and what has to be true for it at the moment it begins. */
export type SessionRequest = {
  accountId: string;
  tenantId: string;
  remembered: boolean;
  /** A second factor was given already, in the session that this one goes on from. */
  isAssured?: boolean;
  /** False when a provider that the tenant configured vouches for the person. */
  isAccountWide?: boolean;
  /** When the session that this one goes on from ends at the latest: so does this one. */
  expiresBy?: string;
  /** What the audit row says of the login beyond who and from where. */
  details?: Record<string, unknown> | undefined;
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
  const profile = await services.database.credential(tenantId).first(findSessionProfile({ tenantId, accountId }));
  if (profile === undefined) return undefined;
  const session = { ...who, ...newNames(), userId: profile.user_id, isAppAccount: false };
  return begin(services, session, presentSessionUser(profile));
}

/** The same for an app account, whose id stands for account and user. */
export async function startAppAccountSession(
  services: Services,
  who: SessionRequest & { name: string; email: string; tenantName: string; flags: readonly string[] },
): Promise<StartedSession | undefined> {
  const { accountId: id, tenantId } = who;
  return begin(
    services,
    { ...who, ...newNames(), userId: id, isAppAccount: true },
    {
      id,
      email: who.email,
      displayName: who.name,
      fullName: who.name,
      tenantId,
      tenantName: who.tenantName,
      groups: [],
      groupDetails: null,
      permissions: [...who.flags],
      isSystemAdmin: false,
      isTenantAdmin: false,
    },
  );
}

function newNames(): { sessionId: string; refreshToken: string } {
  return { sessionId: newId(), refreshToken: presentRefreshToken(newSecret()) };
}

type NewSession = SessionRequest & { sessionId: string; userId: string; refreshToken: string; isAppAccount: boolean };

async function begin(services: Services, session: NewSession, user: SessionUser): Promise<StartedSession | undefined> {
  const { accountId, tenantId, sessionId, userId, refreshToken } = session;
  const db = services.database.credential(tenantId);
  const started = await db.transaction((tx) => insertStarted(services, tx, session));
  if (started === undefined) return undefined;
  forgetSessions(services, started.ended);
  if (started.isTold) await wakeNotices(services, tenantId);
  const token = await services.tokens.issue({ accountId, tenantId, sessionId, userId });
  return { user, refreshToken, ...token };
}

/** `ended` had to make room; undefined when the new one could not begin. */
async function insertStarted(
  services: Services,
  tx: Transaction,
  session: NewSession,
): Promise<{ ended: readonly { id: string }[]; isTold: boolean } | undefined> {
  const { accountId, tenantId, sessionId, userId, remembered, request } = session;
  const now = services.now();
  const at = now.toISOString();
  const life = sessionLifetime(remembered);
  const endsAt = Math.min(now.getTime() + life.absoluteMs, Date.parse(session.expiresBy ?? '9999-12-31'));
  const expiresAt = new Date(endsAt).toISOString();
  const idleExpiresAt = new Date(Math.min(now.getTime() + life.idleMs, endsAt)).toISOString();
  const { ip, userAgent } = request;
  const row = {
    tenantId,
    sessionId,
    accountId,
    remembered,
    isAppAccount: session.isAppAccount,
    assurance: session.isAssured === true ? (2 as const) : (1 as const),
    accountWide: session.isAccountWide ?? true,
    ip,
    userAgent,
    at,
    idleExpiresAt,
    expiresAt,
  };
  const opening = session.isAppAccount
    ? [lockAppAccount(row), insertAppAccountSession(row)]
    : [touchLogin(row), insertSession(row)];
  for (const query of [...session.proof, ...opening]) {
    if ((await tx.first(query)) === undefined) return undefined;
  }
  const isTold = !session.isAppAccount && (await noteLogin(services, tx, { session, at }));
  const who = session.isAppAccount ? appAccountActor(tenantId, accountId) : { tenantId, userId };
  const { details = {} } = session;
  const event = { action: 'auth.login', resourceType: 'session', resourceId: sessionId, details };
  const [ended] = await Promise.all([
    tx.all(endOldestSessions({ tenantId, accountId, keep: maxSessionsPerUser, at })),
    tx.all(insertRefreshToken({ hash: refreshTokenHash(session.refreshToken)!, tenantId, sessionId, at, expiresAt })),
    ...session.also.map((query) => tx.all(query)),
    tx.all(auditEvent({ ...who, request }, at, event)),
  ]);
  await announceSessions(tx, ended);
  return { ended, isTold };
}

/**
 * Tells people of a login from where they have not been before: by every channel where it is, and in the inbox of their
 * other tenants, since whoever it was may not look into this one. @returns whether it is one
 */
async function noteLogin(
  { encryption }: Services,
  tx: Transaction,
  { session, at }: { session: NewSession; at: string },
): Promise<boolean> {
  const { accountId, tenantId, request } = session;
  const place = `${accountId}:${browserKind(request.userAgent)}:${networkOf(request.ip)}`;
  const origin = keyedHash(encryption.keyFor('known-logins'), place);
  const seen = await tx.first(rememberLogin({ accountId, origin, at }));
  if (!seen!.is_news) return false;
  for (const { tenant_id: id, user_id: userId } of await tx.all(listMemberships({ accountId }))) {
    const channels = id === tenantId ? {} : ({ channels: ['in_app'] } as const);
    await tx.all(enterTenant(id));
    await tx.all(securityNotice({ tenantId: id, userId, event: 'login', request, ...channels }, at));
  }
  await tx.all(enterTenant(tenantId));
  return true;
}

/** An app account in the audit trail, where no principal stands for it. */
export function appAccountActor(tenantId: string, id: string) {
  return { kind: 'app_account' as const, id, tenantId, userId: null };
}

/** Tells the other processes of ended sessions, when and only when the transaction commits. */
export async function announceSessions(tx: Transaction, ended: readonly { id: string }[]): Promise<void> {
  await Promise.all(ended.map((session) => tx.all(announceRevocation(`session:${session.id}`))));
}

/** Makes ended sessions end here and now; call it after the commit. */
export function forgetSessions(services: Services, ended: readonly { id: string }[]): void {
  for (const session of ended) services.principals.forget(`session:${session.id}`);
}

function presentSessionUser(profile: SessionProfile): SessionUser {
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
