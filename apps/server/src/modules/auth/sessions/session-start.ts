import type { RequestFacts } from '#core/base/access/principal';
import { isSystemAdmin } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { newSecret } from '#core/base/crypto/secrets';
import { auditEvent } from '#core/data/audit/audit.queries';
import { enterTenant } from '#core/data/db/database';
import type { Query } from '#core/data/db/query';
import { announceRevocation } from '#core/data/db/revocation';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { listMemberships } from '#modules/auth/accounts/accounts.queries';
import { presentRefreshToken, refreshTokenHash, sessionLifetime } from '#modules/auth/auth.rules';
import { originOf } from '#modules/auth/sessions/known-logins';
import { rememberLogin } from '#modules/auth/sessions/known-logins.queries';
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

type Dependencies = Pick<Services, 'database' | 'encryption' | 'log' | 'now' | 'principals' | 'queue' | 'tokens'>;

export const maxSessionsPerUser = 20;

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

/** The owner of a new session, and the conditions that must hold when it starts. */
export type SessionRequest = {
  accountId: string;
  tenantId: string;
  remembered: boolean;
  /** Whether the previous session of a switch has a verified second factor. */
  isAssured?: boolean;
  /** False if a connector of this tenant delivered the code of that factor. */
  isAssuranceAccountWide?: boolean;
  /** False if a provider of the tenant authenticated the user. */
  isAccountWide?: boolean;
  /** Latest end of the previous session, which also ends this one. */
  expiresBy?: string;
  /** Details of the login for the audit event. */
  details?: Record<string, unknown> | undefined;
  request: RequestFacts;
  /** Each must find its row in the transaction of the session: a verified fact may be outdated by now. */
  proof: readonly Query<unknown>[];
  also: readonly Query<never>[];
};

/**
 * Starts a session of an account in one tenant, in one transaction with its proof and the statements of `also`.
 * @returns undefined if the proof does not hold or the account has no active user in an active tenant
 */
export async function startSession(
  services: Dependencies,
  params: SessionRequest,
): Promise<StartedSession | undefined> {
  const { accountId, tenantId } = params;
  const profile = await services.database.credential(tenantId).first(findSessionProfile({ tenantId, accountId }));
  if (profile === undefined) return undefined;
  const session = { ...params, ...newNames(), userId: profile.user_id, isAppAccount: false };
  return begin(services, session, presentSessionUser(profile));
}

/** The same for an app account, whose id is used for account and user. */
export async function startAppAccountSession(
  services: Dependencies,
  params: SessionRequest & { name: string; email: string; tenantName: string; flags: readonly string[] },
): Promise<StartedSession | undefined> {
  const { accountId: id, tenantId } = params;
  return begin(
    services,
    { ...params, ...newNames(), userId: id, isAppAccount: true },
    {
      id,
      email: params.email,
      displayName: params.name,
      fullName: params.name,
      tenantId,
      tenantName: params.tenantName,
      groups: [],
      groupDetails: null,
      permissions: [...params.flags],
      isSystemAdmin: false,
      isTenantAdmin: false,
    },
  );
}

function newNames(): { sessionId: string; refreshToken: string } {
  return { sessionId: newId(), refreshToken: presentRefreshToken(newSecret()) };
}

type NewSession = SessionRequest & { sessionId: string; userId: string; refreshToken: string; isAppAccount: boolean };

async function begin(
  services: Dependencies,
  session: NewSession,
  user: SessionUser,
): Promise<StartedSession | undefined> {
  const { accountId, tenantId, sessionId, userId, refreshToken } = session;
  const db = services.database.credential(tenantId);
  const started = await db.transaction((tx) => insertStarted(services, tx, session));
  if (started === undefined) return undefined;
  forgetSessions(services, started.ended);
  if (started.isNotified) await wakeNotices(services, tenantId);
  const token = await services.tokens.issue({ accountId, tenantId, sessionId, userId });
  return { user, refreshToken, ...token };
}

/** `ended` lists the sessions that were evicted; undefined if the new one could not start. */
async function insertStarted(
  services: Dependencies,
  tx: Transaction,
  session: NewSession,
): Promise<{ ended: readonly { id: string }[]; isNotified: boolean } | undefined> {
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
    assuranceAccountWide: session.isAssured === true && session.isAssuranceAccountWide === true,
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
  const isNotified = !session.isAppAccount && (await noteLogin(services, tx, { session, at }));
  const actor = session.isAppAccount ? appAccountActor(tenantId, accountId) : { tenantId, userId };
  const { details = {} } = session;
  const event = { action: 'auth.login', resourceType: 'session', resourceId: sessionId, details };
  const [ended] = await Promise.all([
    tx.all(endOldestSessions({ ...row, keep: maxSessionsPerUser })),
    tx.all(insertRefreshToken({ hash: refreshTokenHash(session.refreshToken)!, tenantId, sessionId, at, expiresAt })),
    ...session.also.map((query) => tx.all(query)),
    tx.all(auditEvent({ ...actor, request }, at, event)),
  ]);
  await announceSessions(tx, ended);
  return { ended, isNotified };
}

/**
 * Notifies users of a login from a new origin: by every channel in this tenant, and in the inbox of their other
 * tenants, which an intruder may not be able to read.
 * @returns whether the origin is new
 */
async function noteLogin(
  services: Dependencies,
  tx: Transaction,
  { session, at }: { session: NewSession; at: string },
): Promise<boolean> {
  const { accountId, tenantId, request } = session;
  // A tenant switch, or a provider of one tenant, does not authenticate the account itself.
  const isProven = session.expiresBy === undefined && (session.isAccountWide ?? true);
  const origin = originOf(services, accountId, request);
  const seen = await tx.first(rememberLogin({ accountId, origin, at, provenAt: isProven ? at : null }));
  if (!seen!.is_new_origin) return false;
  for (const { tenant_id: id, user_id: userId } of await tx.all(listMemberships({ accountId }))) {
    const channels = id === tenantId ? {} : ({ channels: ['in_app'] } as const);
    await tx.all(enterTenant(id));
    await tx.all(securityNotice({ tenantId: id, userId, event: 'login', request, ...channels }, at));
  }
  await tx.all(enterTenant(tenantId));
  return true;
}

/** The actor of an app account for the audit trail, before it has a principal. */
export function appAccountActor(tenantId: string, id: string) {
  return { kind: 'app_account' as const, id, tenantId, userId: null };
}

/** Announces ended sessions to the other processes, only when the transaction commits. */
export async function announceSessions(tx: Transaction, ended: readonly { id: string }[]): Promise<void> {
  await Promise.all(ended.map((session) => tx.all(announceRevocation(`session:${session.id}`))));
}

/** Removes ended sessions from the cache of this process; call it after the commit. */
export function forgetSessions(services: Dependencies, ended: readonly { id: string }[]): void {
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
